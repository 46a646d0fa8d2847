// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/staging_memory.hpp"

namespace triax {

int StagingMemory::take(std::size_t bytes) {
  Piece* best = nullptr;     // smallest free piece that is large enough
  Piece* largest = nullptr;  // largest free piece
  for (Piece& piece : pieces_) {
    if (piece.used) continue;
    if (piece.bytes >= bytes && (best == nullptr || piece.bytes < best->bytes)) best = &piece;
    if (largest == nullptr || piece.bytes > largest->bytes) largest = &piece;
  }
  if (best == nullptr) {
    best = largest != nullptr ? largest : &pieces_.emplace_back();
    wait_(best->busy);
    best->memory = {};  // freed before the larger one is allocated
    if (!plan_) best->memory = Buffer::pinned(bytes);
    best->bytes = bytes;
  }
  best->used = true;
  return static_cast<int>(best - pieces_.data());
}

std::int64_t StagingMemory::bytes() const {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += static_cast<std::int64_t>(piece.bytes);
  return bytes;
}

}  // namespace triax

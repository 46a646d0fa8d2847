// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pinned host memory for staging device messages, allocated once and reused.
#include <cstdint>
#include <utility>
#include <vector>

#include "src/comm/watchdog/device_wait.hpp"

namespace triax {

/// A message takes the smallest free piece that is large enough; otherwise the largest free piece
/// grows, or a new one is made. The total depends only on the order of messages, so a dry run can
/// compute it.
class StagingMemory {
 public:
  /// `plan`: only counts bytes and allocates nothing. `wait`: how the caller waits for the device.
  explicit StagingMemory(bool plan = false, WaitForDevice wait = wait_alone)
      : plan_(plan), wait_(std::move(wait)) {}

  /// Takes a piece of at least `bytes` bytes. Its memory may still be being copied to the device:
  /// see busy().
  int take(std::size_t bytes);
  void release(int piece) { pieces_[static_cast<std::size_t>(piece)].used = false; }
  const Buffer& memory(int piece) const { return of(piece).memory; }
  /// Event of the last copy from the piece to the device; nothing may write to the piece before it.
  Event& busy(int piece) { return pieces_[static_cast<std::size_t>(piece)].busy; }
  std::int64_t bytes() const;

 private:
  struct Piece {
    std::size_t bytes = 0;
    bool used = false;
    Buffer memory;
    Event busy;
  };
  const Piece& of(int piece) const { return pieces_[static_cast<std::size_t>(piece)]; }

  bool plan_;
  WaitForDevice wait_;
  std::vector<Piece> pieces_;
};

}  // namespace triax

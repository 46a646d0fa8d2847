// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_snapshot.hpp"

#include <cstddef>
#include <utility>

#include "io/direct/block_file.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t page = BlockFile::alignment;
constexpr std::int64_t large = std::int64_t{64} << 10;

}  // namespace

CheckpointSnapshot::CheckpointSnapshot(std::int64_t bytes, MemorySpace space)
    : memory_(Buffer::beside(space, static_cast<std::size_t>(bytes))) {}

std::int64_t CheckpointSnapshot::footprint(std::int64_t bytes) {
  return (bytes + line - 1) / line * line + (bytes >= large ? page : 0);
}

void CheckpointSnapshot::clear() {
  pieces_.clear();
  used_ = 0;
  copied_ = 0;
  placed_ = 0;
  broken_ = false;
}

void CheckpointSnapshot::add(const std::string& name, std::vector<hdf5::Box> boxes, DType type,
                             Source source) {
  const std::int64_t elements = hdf5::elements(boxes);
  const std::int64_t size = elements * static_cast<std::int64_t>(size_of(type));
  check(used_ + footprint(size) <= bytes(), "a snapshot of {} bytes has no room for {} more of {}",
        bytes(), size, name);
  pieces_.push_back({name, std::move(boxes), Tensor(nullptr, type, {elements}), std::move(source)});
  used_ += footprint(size);
}

void CheckpointSnapshot::add(const std::string& name, std::vector<hdf5::Box> boxes,
                             const Tensor& data) {
  add(name, std::move(boxes), data.dtype(),
      [data](const Stream& stream, const Tensor& to) { triax::copy(stream, to, data); });
}

void CheckpointSnapshot::copy(const Stream& stream, const Offset& offset) {
  if (broken_)
    throw Error("the state was not copied", "an earlier copy failed, and the state has changed",
                "Another checkpoint is written at the next checkpoint.interval");
  broken_ = true;  // until all copies have succeeded
  for (; copied_ < pieces_.size(); ++copied_) {
    Piece& piece = pieces_[copied_];
    const auto size = static_cast<std::int64_t>(piece.data.bytes());
    auto* at = static_cast<std::byte*>(memory_.data()) + placed_;
    if (size >= large && offset)
      at += (offset(piece.name, piece.boxes) - reinterpret_cast<std::intptr_t>(at)) & (page - 1);
    piece.data = Tensor(static_cast<void*>(at), piece.data.dtype(), piece.data.shape());
    piece.source(stream, piece.data);
    placed_ += footprint(size);
  }
  stream.synchronize();
  broken_ = false;
}

void CheckpointSnapshot::check_copied() const {
  check(whole(), "a snapshot of {} pieces with {} of them copied", pieces_.size(), copied_);
}

}  // namespace triax

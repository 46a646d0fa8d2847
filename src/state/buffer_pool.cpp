// SPDX-License-Identifier: Apache-2.0
#include "src/state/buffer_pool.hpp"

#include <utility>

namespace triax {
namespace {

constexpr std::size_t stride_of(std::size_t bytes) {
  constexpr std::size_t alignment = DeviceArena::alignment;
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

std::int64_t BufferPool::bytes_of(std::size_t bytes, int count) {
  return static_cast<std::int64_t>(stride_of(bytes)) * count;
}

BufferPool::BufferPool(std::string name, std::size_t bytes, int count, const MemorySource& source)
    : name_(std::move(name)),
      stride_(stride_of(bytes)),
      bytes_(bytes),
      memory_(source.take(name_, static_cast<std::size_t>(bytes_of(bytes, count)))) {
  for (int slot = count - 1; slot >= 0; --slot) free_.push_back(slot);
}

int BufferPool::acquire() {
  check(!free_.empty(), "no free buffer in the pool of {}", name_);
  const int slot = free_.back();
  free_.pop_back();
  return slot;
}

void BufferPool::release(int slot) {
  free_.push_back(slot);
}

Tensor BufferPool::at(int slot) const {
  auto* base = static_cast<char*>(memory_.data()) + stride_ * static_cast<std::size_t>(slot);
  return {base, DType::u8, {static_cast<std::int64_t>(bytes_)}, memory_.space()};
}

Tensor BufferPool::at(int slot, DType type, const Shape& shape) const {
  const Tensor bytes = at(slot);
  const Tensor view(bytes.data(), type, shape, bytes.space());
  check(view.bytes() <= bytes.bytes(), "a view of {} bytes in a buffer of {}", view.bytes(),
        bytes.bytes());
  return view;
}

}  // namespace triax

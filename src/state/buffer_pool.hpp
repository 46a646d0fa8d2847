// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pools of equal buffers, acquired and released during a step.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/device/device_arena.hpp"

namespace triax {

/// `count` buffers of `bytes` bytes each, allocated once. The verified plan's peaks give the count.
class BufferPool {
 public:
  /// `name`: region of `source` that the memory is taken from.
  BufferPool(std::string name, std::size_t bytes, int count, const MemorySource& source = {});
  /// Bytes a pool takes, with each buffer padded to the arena's alignment.
  static std::int64_t bytes_of(std::size_t bytes, int count);
  /// Index of a free buffer. Internal error if none is free, since the plan guarantees one.
  int acquire();
  void release(int slot);
  /// The buffer as bytes (u8).
  Tensor at(int slot) const;
  /// The buffer's first elements as a tensor, row-major.
  Tensor at(int slot, DType type, const Shape& shape) const;
  /// The memory of all buffers, for registration with a disk driver.
  std::span<std::byte> memory() const {
    return {static_cast<std::byte*>(memory_.data()), memory_.bytes()};
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

 private:
  std::string name_;
  std::size_t stride_;
  std::size_t bytes_;
  Memory memory_;
  std::vector<int> free_;
};

}  // namespace triax

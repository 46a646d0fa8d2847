#pragma once
// Equal buffers handed out and given back during a step: boundaries and frames.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/device/device_arena.hpp"

namespace triax {

/// `count` buffers of `bytes` each, allocated once; count comes from the verified plan's peaks.
class BufferPool {
 public:
  /// `name`: the part of `source` that the memory is of.
  BufferPool(std::string name, std::size_t bytes, int count, const MemorySource& source = {});
  /// Bytes that a pool takes.
  static std::int64_t bytes_of(std::size_t bytes, int count);
  /// A free buffer's number; an internal error when none is free (the plan promised there is one).
  int acquire();
  void release(int slot);
  /// The buffer as bytes (u8).
  Tensor at(int slot) const;
  /// The buffer's first elements, row-major.
  Tensor at(int slot, DType type, const Shape& shape) const;
  /// All buffers: what a disk's driver may keep hold of.
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

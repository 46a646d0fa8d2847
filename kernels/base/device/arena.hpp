// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bump allocation with mark and rewind inside one piece of memory. The code that carves the memory
// also measures it: an Arena without memory returns null views and counts, so each size is written
// once.
#include <cstddef>
#include <string_view>

#include "kernels/base/device/device.hpp"

namespace triax {

class Arena {
 public:
  /// Measures: take() returns null views and used() grows without limit.
  Arena() = default;
  /// Carves `memory`, which must outlive the views; an Error when it is full.
  Arena(void* memory, std::size_t bytes, MemorySpace space = MemorySpace::host);
  explicit Arena(const Buffer& buffer) : Arena(buffer.data(), buffer.bytes(), buffer.space()) {}

  /// A row-major view of fresh memory (64-byte aligned, not cleared). `name` appears in errors.
  Tensor take(std::string_view name, DType dtype, const Shape& shape);

  using Mark = std::size_t;
  Mark mark() const { return used_; }
  /// Gives back everything taken since `mark`.
  void rewind(Mark mark) { used_ = mark; }

  std::size_t used() const { return used_; }
  /// Largest used() so far. It is one total: the memory plan says what the memory is for.
  std::size_t high_water() const { return high_water_; }
  std::size_t capacity() const { return bytes_; }
  bool measuring() const { return measuring_; }

 private:
  bool measuring_ = true;
  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  MemorySpace space_ = MemorySpace::host;
  std::size_t used_ = 0;
  std::size_t high_water_ = 0;
};

/// Rewinds the arena to its mark at the end of the scope.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace triax

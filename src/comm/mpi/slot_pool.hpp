// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slots for messages under way, given back in any order.
#include <cstddef>
#include <vector>

namespace triax {

/// How many slots are taken at once depends on the pace of other ranks. The usual number is
/// reserved up front; only a new maximum allocates.
template <class T>
class SlotPool {
 public:
  SlotPool() {
    constexpr std::size_t usual = 64;
    slots_.reserve(usual);
    free_.reserve(usual);
  }
  /// The index of a free slot, with its old content.
  std::size_t take() {
    if (free_.empty()) {
      slots_.emplace_back();
      free_.reserve(slots_.capacity());  // giving back never allocates
      return slots_.size() - 1;
    }
    const std::size_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::size_t slot) { free_.push_back(slot); }
  T& operator[](std::size_t slot) { return slots_[slot]; }
  const T& operator[](std::size_t slot) const { return slots_[slot]; }

 private:
  std::vector<T> slots_;
  std::vector<std::size_t> free_;
};

}  // namespace triax

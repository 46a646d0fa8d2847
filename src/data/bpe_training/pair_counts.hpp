// SPDX-License-Identifier: Apache-2.0
#pragma once
// Number of occurrences of pairs of tokens: a hash table with open addresses.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace triax {

/// Two tokens in a row. Compares as Hugging Face tokenizers does: by the left one first.
using TokenPair = std::uint64_t;
constexpr TokenPair pair_of(std::int32_t left, std::int32_t right) {
  return TokenPair{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}
constexpr std::int32_t left_of(TokenPair pair) {
  return static_cast<std::int32_t>(pair >> 32);
}
constexpr std::int32_t right_of(TokenPair pair) {
  return static_cast<std::int32_t>(pair & 0xFFFFFFFFU);
}

class PairCounts {
 public:
  PairCounts() : slots_(std::size_t{1} << bits_) {}
  /// Adds to the count of a pair, and returns the sum.
  std::int64_t add(TokenPair pair, std::int64_t count) {
    if (3 * (size_ + 1) > 2 * slots_.size()) grow();
    Slot& slot = slots_[place(pair)];
    if (slot.pair == none) {
      slot.pair = pair;
      ++size_;
    }
    return slot.count += count;
  }
  /// 0 for a pair that was never added.
  std::int64_t of(TokenPair pair) const { return slots_[place(pair)].count; }

 private:
  static constexpr TokenPair none = ~TokenPair{0};
  struct Slot {
    TokenPair pair = none;
    std::int64_t count = 0;
  };

  std::size_t place(TokenPair pair) const {
    std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> (64 - bits_);
    while (slots_[at].pair != pair && slots_[at].pair != none) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> before(std::size_t{1} << ++bits_);
    std::swap(before, slots_);
    for (const Slot& slot : before)
      if (slot.pair != none) slots_[place(slot.pair)] = slot;
  }

  int bits_ = 16;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Merges of a BPE model: rank and result of a pair of tokens.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace triax {

/// Merge of a pair. No merge: the rank is no_merge.
struct Merge {
  static constexpr std::uint32_t no_merge = ~std::uint32_t{0};
  std::uint32_t rank = no_merge;
  std::int32_t id = -1;
};

/// Hash table with open addresses, at most half full.
class PairTable {
 public:
  /// Table for at most `pairs` pairs.
  explicit PairTable(std::size_t pairs = 0)
      : shift_(64 - std::bit_width(std::bit_ceil(2 * pairs + 2) - 1)),
        slots_(std::size_t{1} << (64 - shift_)) {}

  /// The last merge of a pair counts, as in Hugging Face tokenizers.
  void add(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[place(key(left, right))];
    slot.key = key(left, right);
    slot.merge = merge;
  }
  Merge find(std::int32_t left, std::int32_t right) const {
    return slots_[place(key(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = empty;
    Merge merge;
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t key) const {
    std::size_t at = (key * 0x9E3779B97F4A7C15U) >> shift_;
    while (slots_[at].key != key && slots_[at].key != empty) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  int shift_;
  std::vector<Slot> slots_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Effects of a merge on words, and on the pairs around what it merged.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/data/bpe_training/token_words.hpp"

namespace triax {

struct TokenMerge {
  std::int32_t left = 0, right = 0;  // become `made`
  std::int32_t made = 0;
};

/// A token beside the places of a merge.
struct Neighbor {
  std::int64_t lost = 0;    // occurrences of its pair with `left` (or `right`), before
  std::int64_t gained = 0;  // occurrences of its pair with `made`
  std::uint32_t words = 0;  // words that gained some
};

/// Effects of one merge on a part of the words. Neighbors are summed by their ids: a merge touches
/// few of them, many times.
class MergeEffects {
 public:
  enum Side : std::uint8_t { before, after };
  struct Gain {
    std::uint32_t word = 0;
    std::int32_t neighbor = 0;
    Side side = before;
  };

  /// Merges in these words. Ids are below `vocabulary`.
  void apply(TokenWords& words, std::span<const std::uint32_t> list, const TokenMerge& merge,
             std::size_t vocabulary);
  /// Neighbors that have been met on a side.
  const std::vector<std::int32_t>& met(Side side) const { return met_[side]; }
  const Neighbor& neighbor(Side side, std::int32_t id) const {
    return sides_[side][static_cast<std::size_t>(id)].sums;
  }
  /// Words that gained a pair, in the order of the list; each once per pair.
  const std::vector<Gain>& gains() const { return gains_; }
  /// Forgets everything, at the cost of what was met.
  void clear();

 private:
  struct Entry {
    Neighbor sums;
    std::uint32_t last = ~std::uint32_t{0};  // word that gained last
  };

  void apply_to(TokenWords& words, std::uint32_t word, const TokenMerge& merge);
  Entry& entry(Side side, std::int32_t id);
  void gain(Side side, std::int32_t id, std::uint32_t word, std::int64_t count);

  std::array<std::vector<Entry>, 2> sides_;  // by id
  std::array<std::vector<std::int32_t>, 2> met_;
  std::vector<Gain> gains_;
};

}  // namespace triax

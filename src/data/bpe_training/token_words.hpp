// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words as tokens, which merges make fewer.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "src/data/bpe_training/pair_counts.hpp"
#include "src/data/bpe_training/position_lists.hpp"

namespace triax {

/// Ids of the 256 bytes.
using ByteIds = std::array<std::int32_t, 256>;

/// Words one behind another in one array: count (two numbers), number of tokens, tokens. A word is
/// named by its position there.
class TokenWords {
 public:
  explicit TokenWords(const ByteIds& ids) : ids_(ids) {}
  void reserve(std::size_t words, std::size_t bytes) { numbers_.reserve(words * header + bytes); }
  /// Words of one byte have no pairs, and are left out.
  void add(std::string_view word, std::uint64_t count);

  /// Before the first merge: calls f(pair, count, words) for each pair of bytes that occurs.
  using EachPair = std::function<void(TokenPair, std::int64_t, std::span<const std::uint32_t>)>;
  void each_pair(PositionLists& lists, const EachPair& f) const;

  std::int64_t count(std::uint32_t word) const {
    return static_cast<std::int64_t>(std::uint64_t{numbers_[word]} |
                                     std::uint64_t{numbers_[word + 1]} << 32);
  }
  std::uint32_t size(std::uint32_t word) const { return numbers_[word + 2]; }
  void shorten(std::uint32_t word, std::uint32_t size) { numbers_[word + 2] = size; }
  std::uint32_t* tokens(std::uint32_t word) { return &numbers_[word + header]; }
  const std::uint32_t* tokens(std::uint32_t word) const { return &numbers_[word + header]; }
  void prefetch(std::uint32_t word) const { __builtin_prefetch(&numbers_[word], 1); }

 private:
  static constexpr std::size_t header = 3;
  static constexpr std::size_t pairs = std::size_t{256} * 256;
  // Calls f(pair of bytes, word) for each two bytes in a row, before the first merge.
  template <class F>
  void each_occurrence(F&& f) const;

  ByteIds ids_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sets of code points, as bytes of UTF-8 in a grammar.
#include <cstdint>
#include <optional>
#include <vector>

#include "src/inference/constraint/grammar.hpp"

namespace triax {

/// Code points in ranges that do not touch, ascending. Surrogates are no characters.
class CharacterSet {
 public:
  CharacterSet() = default;
  /// From `low` to `high`.
  CharacterSet(char32_t low, char32_t high) { add(low, high); }
  static CharacterSet all() { return {0, 0x10FFFF}; }

  void add(char32_t low, char32_t high);
  void add(const CharacterSet& other);
  CharacterSet complement() const;
  CharacterSet without(const CharacterSet& other) const;
  bool has(char32_t character) const;
  bool empty() const { return ranges_.empty(); }
  /// The character of a set of one.
  std::optional<char32_t> only() const;

  /// One character of the set, which is not empty, then `next`.
  Grammar::Node node(Grammar& grammar, Grammar::Node next) const;

 private:
  struct Range {
    char32_t low, high;
  };
  std::vector<Range> ranges_;
};

}  // namespace triax

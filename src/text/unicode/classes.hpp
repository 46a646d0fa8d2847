// SPDX-License-Identifier: Apache-2.0
#pragma once
// Classes of characters that patterns of tokenizers ask for: general categories and White_Space of
// Unicode 16, as Oniguruma (Hugging Face tokenizers) and Rust's regex (tiktoken) have them.
#include <array>
#include <cstdint>
#include <vector>

#include "src/text/unicode/utf8.hpp"

namespace triax {

/// A set of classes: one bit each.
using ClassMask = std::uint16_t;

namespace classes {
constexpr ClassMask bit(int number) {
  return static_cast<ClassMask>(1U << number);
}
constexpr ClassMask none = bit(0);  // controls, formats, unassigned
constexpr ClassMask upper = bit(1), lower = bit(2), title = bit(3), modifier = bit(4),
                    other_letter = bit(5), mark = bit(6), decimal = bit(7), letter_number = bit(8),
                    other_number = bit(9), connector = bit(10), other_punctuation = bit(11),
                    symbol = bit(12), space = bit(13);
constexpr ClassMask newline = bit(14);  // CR and LF, which are spaces as well
constexpr ClassMask letter = upper | lower | title | modifier | other_letter;  // \p{L}
constexpr ClassMask number = decimal | letter_number | other_number;           // \p{N}
constexpr ClassMask punctuation = connector | other_punctuation;               // \p{P}
constexpr ClassMask not_letter_number_space =
    none | mark | punctuation | symbol;  // [^\s\p{L}\p{N}]
}  // namespace classes

/// Class of every code point, in two steps: blocks of 256 code points, equal blocks once.
class CharacterClasses {
 public:
  static const CharacterClasses& table();

  ClassMask of(char32_t c) const { return masks_[std::size_t{blocks_[c >> 8]} << 8 | (c & 0xFFU)]; }
  /// Classes of the code points below 256.
  const ClassMask* latin() const { return masks_.data(); }

 private:
  CharacterClasses();
  std::array<std::uint16_t, 0x1100> blocks_{};  // block of a code point / 256
  std::vector<ClassMask> masks_;                // (blocks, 256)
};

/// \w of Rust's regex, but for letters that only Other_Alphabetic has: single_word of added tokens.
bool is_word_character(char32_t c);

}  // namespace triax

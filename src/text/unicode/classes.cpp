// SPDX-License-Identifier: Apache-2.0
#include "src/text/unicode/classes.hpp"

#include <algorithm>
#include <map>

#include "src/text/unicode/class_ranges.hpp"

namespace triax {

CharacterClasses::CharacterClasses() {
  std::map<std::vector<ClassMask>, std::uint16_t> known;
  const auto ranges = class_ranges();
  std::size_t next = 0;
  ClassMask mask = classes::none;
  std::vector<ClassMask> block(256);
  for (std::uint32_t first = 0; first < 0x110000; first += 256) {
    for (std::uint32_t i = 0; i < 256; ++i) {
      if (next < ranges.size() && ranges[next] >> 4 == first + i)
        mask = classes::bit(static_cast<int>(ranges[next++] & 0xFU));
      block[i] = mask;
    }
    if (first == 0) {
      block['\r'] |= classes::newline;
      block['\n'] |= classes::newline;
    }
    const auto [at, added] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (added) masks_.insert(masks_.end(), block.begin(), block.end());
    blocks_[first >> 8] = at->second;
  }
}

const CharacterClasses& CharacterClasses::table() {
  static const CharacterClasses table;
  return table;
}

bool is_word_character(char32_t c) {
  constexpr ClassMask word = classes::letter | classes::mark | classes::decimal |
                             classes::letter_number | classes::connector;
  const bool circled = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
                       (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  const bool joiner = c == 0x200C || c == 0x200D;
  return (CharacterClasses::table().of(c) & word) != 0 || circled || joiner;
}

}  // namespace triax

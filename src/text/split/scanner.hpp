// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scanners: patterns of known families written out, linear in the text.
#include <cstring>

#include "src/text/split/splitter.hpp"
#include "src/text/unicode/classes.hpp"

namespace triax {

/// Text with the classes of its characters.
struct ScannedText {
  const char* end;
  const CharacterClasses& classes;
  const ClassMask* latin;

  struct Character {
    ClassMask mask;
    std::uint32_t bytes;
  };
  /// The character at `at` < end.
  Character at(const char* at) const {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x80) return {latin[byte], 1};
    const CodePoint c = code_point_at(at, end);
    return {classes.of(c.value), c.bytes};
  }
  /// Classes of the character at `at`; none at the end of the text.
  ClassMask mask_at(const char* at) const { return at < end ? this->at(at).mask : ClassMask{0}; }
  /// End of the characters of `mask` from `at` on, at most `most` of them.
  const char* run(const char* at, ClassMask mask, std::size_t most = ~std::size_t{0}) const {
    for (; most > 0 && at < end; --most) {
      const Character c = this->at(at);
      if ((c.mask & mask) == 0) break;
      at += c.bytes;
    }
    return at;
  }
};

/// A pattern as a function: Rules::match(text, at) is the end of the match at `at`, or `at`.
template <class Rules>
class Scanner final : public Splitter {
 public:
  std::size_t split(std::string_view text, std::size_t from, std::size_t limit,
                    std::vector<Cut>& cuts) const override {
    const CharacterClasses& table = CharacterClasses::table();
    const char* const begin = text.data();
    const ScannedText scanned{begin + text.size(), table, table.latin()};
    const auto add = [&](const char* end, bool matched) {
      cuts.push_back({static_cast<std::size_t>(end - begin), matched});
    };
    const char* at = begin + from;
    while (at < scanned.end && cuts.size() < limit) {
      const char* match = Rules::match(scanned, at);
      if (match == at) {
        do {
          at += scanned.at(at).bytes;
          match = at < scanned.end ? Rules::match(scanned, at) : at;
        } while (match == at && at < scanned.end);
        add(at, false);
        if (match == at) continue;
      }
      add(match, true);
      at = match;
    }
    return static_cast<std::size_t>(at - begin);
  }
};

/// End of `\s+(?!\S)|\s+` at a space that begins a run which ends at `run_end`.
inline const char* blanks(const ScannedText& text, const char* at, const char* run_end) {
  if (run_end == text.end) return run_end;
  const char* last = previous_code_point(at, run_end);
  return last == at ? run_end : last;
}

/// End of `\s*[\r\n]+|\s+(?!\S)|\s+` at a space. `end_whole`: with `\s++$` before them, a run at
/// the end of the text is one piece.
template <bool end_whole>
const char* lines_and_blanks(const ScannedText& text, const char* at) {
  const char* const run_end = text.run(at, classes::space);
  if (end_whole && run_end == text.end) return run_end;
  for (const char* last = run_end; last > at; --last)
    if (last[-1] == '\n' || last[-1] == '\r') return last;
  return blanks(text, at, run_end);
}

/// End of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, or `at`. U+017F is an s in another case.
inline const char* contraction(const ScannedText& text, const char* at) {
  const std::ptrdiff_t left = text.end - at;
  if (left < 2 || *at != '\'') return at;
  const auto small = [&](int i) { return static_cast<char>(at[i] | 0x20); };
  const char first = small(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (left < 3) return at;
  if ((first == 'r' || first == 'v') && small(2) == 'e') return at + 3;
  if (first == 'l' && small(2) == 'l') return at + 3;
  return at[1] == '\xC5' && at[2] == '\xBF' ? at + 3 : at;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// UTF-8 (RFC 3629): checks, repairs and writes it.
#include <cstddef>
#include <string>
#include <string_view>

namespace triax {

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
inline constexpr std::string_view replacement_character = "\xef\xbf\xbd";

/// Length of the valid UTF-8 at the beginning of `text`; text.size() if all of it is.
std::size_t valid_utf8(std::string_view text);

inline bool is_utf8(std::string_view text) {
  return valid_utf8(text) == text.size();
}

/// Appends `text` to `out` with U+FFFD for each maximal part of an ill-formed sequence (Unicode
/// 3.9, as Python and browsers do). Returns the number of replacements.
std::size_t append_repaired(std::string_view text, std::string& out);

/// Appends the UTF-8 of a code point, which is no surrogate and at most 0x10ffff.
void append_utf8(std::string& out, char32_t code);

}  // namespace triax

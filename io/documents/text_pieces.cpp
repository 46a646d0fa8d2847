// SPDX-License-Identifier: Apache-2.0
#include "io/documents/text_pieces.hpp"

#include <algorithm>

namespace triax {
namespace {

bool is_letter(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z';
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::size_t piece_cut(std::string_view text, std::size_t from) {
  const std::size_t end = std::min(text.size(), from + cut_range);
  if (from >= end) return end;
  std::size_t first_line = end;
  for (std::size_t at = from; at < end; ++at) {
    const std::size_t newline = text.find('\n', at - 1);
    at = newline + 1;
    if (newline == text.npos || at >= end) break;
    first_line = std::min(first_line, at);
    // A blank outside ASCII ends with a byte of 0x80 or above.
    const auto before = static_cast<unsigned char>(text[at - 2]);
    if (is_letter(text[at]) && before < 0x80 && !is_blank(text[at - 2])) return at;
  }
  if (first_line < end) return first_line;
  std::size_t at = from;
  while (at < end && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

}  // namespace triax

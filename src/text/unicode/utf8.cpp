// SPDX-License-Identifier: Apache-2.0
#include "src/text/unicode/utf8.hpp"

namespace triax {

void append_utf8(std::string& text, char32_t value) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](unsigned shift) { put(0x80U | (value >> shift & 0x3FU)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0U | value >> 6);
    tail(0);
  } else if (value < 0x10000) {
    put(0xE0U | value >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0U | value >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_utf8(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const CodePoint c = code_point_at(at, end);
    if (c.bytes == 1 && c.value == 0xFFFD) return false;
    at += c.bytes;
  }
  return true;
}

}  // namespace triax

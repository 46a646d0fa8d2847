// SPDX-License-Identifier: Apache-2.0
#pragma once
// Code points of UTF-8 text.
#include <cstddef>
#include <cstdint>

namespace triax {

struct CodePoint {
  char32_t value;
  std::uint32_t bytes;  // 1 to 4
};

/// The code point at `at` < `end`. A byte that begins none is U+FFFD of one byte.
inline CodePoint code_point_at(const char* at, const char* end) {
  const auto byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(at[i]); };
  const auto tail = [&](std::ptrdiff_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const std::ptrdiff_t left = end - at;
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first < 0xE0 && left >= 2 && tail(1))
    return {(first & 0x1FU) << 6 | (byte(1) & 0x3FU), 2};
  if (first >= 0xE0 && first < 0xF0 && left >= 3 && tail(1) && tail(2)) {
    const char32_t value = (first & 0xFU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    if (value >= 0x800 && (value < 0xD800 || value > 0xDFFF)) return {value, 3};
  }
  if (first >= 0xF0 && first < 0xF5 && left >= 4 && tail(1) && tail(2) && tail(3)) {
    const char32_t value =
        (first & 7U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    if (value >= 0x10000 && value < 0x110000) return {value, 4};
  }
  return {0xFFFD, 1};
}

/// Start of the code point that ends before `at`; `begin` < `at`.
inline const char* previous_code_point(const char* begin, const char* at) {
  const char* start = at - 1;
  while (start > begin && at - start < 4 && (static_cast<unsigned char>(*start) & 0xC0U) == 0x80U)
    --start;
  return start;
}

}  // namespace triax

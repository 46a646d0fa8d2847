// SPDX-License-Identifier: Apache-2.0
#include "src/config/row_slice.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace triax {
namespace {

// A side of the colon; false: it is no number.
bool read_bound(std::string_view text, std::optional<std::int64_t>& bound, bool& percent) {
  if (text.empty()) return true;
  if (text.ends_with('%')) {
    percent = true;
    text.remove_suffix(1);
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  bound = value;
  return true;
}

// Python's round(): halves to even, as the floating-point environment has it by default.
std::int64_t share(std::int64_t percent, std::int64_t rows) {
  return std::llrint(static_cast<double>(percent * rows) / 100.0);
}

}  // namespace

RowRange RowSlice::of(std::int64_t rows) const {
  const auto row = [&](const std::optional<std::int64_t>& bound, std::int64_t otherwise) {
    if (!bound) return otherwise;
    std::int64_t at = percent ? share(*bound, rows) : *bound;
    if (at < 0) at = std::max<std::int64_t>(rows + at, 0);
    return std::min(at, rows);
  };
  const std::int64_t first = row(begin, 0);
  return {first, std::max(first, row(end, rows))};
}

bool RowSlice::depends_on_count() const {
  return percent || begin.value_or(0) < 0 || end.value_or(0) < 0;
}

std::string text_of(const RowSlice& slice) {
  const auto bound = [&](const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) + (slice.percent ? "%" : "") : std::string();
  };
  return bound(slice.begin) + ":" + bound(slice.end);
}

std::optional<RowSlice> row_slice(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == text.npos) return {};
  RowSlice slice;
  const std::string_view all = text;
  if (!read_bound(all.substr(0, colon), slice.begin, slice.percent) ||
      !read_bound(all.substr(colon + 1), slice.end, slice.percent))
    return {};
  constexpr std::int64_t whole = 100;
  const auto too_large = [&](const std::optional<std::int64_t>& bound) {
    return slice.percent && bound && (*bound < -whole || *bound > whole);
  };
  if (too_large(slice.begin) || too_large(slice.end)) return {};
  return slice;
}

namespace {

bool ends_before(const RowSlice& a, const RowSlice& b) {
  return a.end && b.begin && a.percent == b.percent && (*a.end < 0) == (*b.begin < 0) &&
         *a.end <= *b.begin;
}

}  // namespace

bool are_apart(const RowSlice& a, const RowSlice& b) {
  return ends_before(a, b) || ends_before(b, a);
}

}  // namespace triax

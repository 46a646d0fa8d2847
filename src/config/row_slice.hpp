// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slices of rows, as the splits of Hugging Face's datasets have them in brackets.
#include <cstdint>
#include <optional>
#include <string>

namespace triax {

/// Rows [begin, end).
struct RowRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const RowRange&) const = default;
};

/// A slice "BEGIN:END". Both are numbers of rows, or percents of them if one has a %; negative ones
/// count from the end; either may be left out.
struct RowSlice {
  std::optional<std::int64_t> begin = {}, end = {};
  bool percent = false;
  /// Rows of the slice among `rows` rows, at most all. A percent is rounded to the nearest row, at
  /// a half to an even one.
  RowRange of(std::int64_t rows) const;
  bool is_whole() const { return !begin && !end; }
  /// Whether the rows of the slice depend on how many there are.
  bool depends_on_count() const;
  bool operator==(const RowSlice&) const = default;
};

/// "BEGIN:END", which row_slice() reads.
std::string text_of(const RowSlice& slice);

/// Whether the slices share no row, however many there are, as ":90%" and "90%:". False where that
/// depends on their number.
bool are_apart(const RowSlice& a, const RowSlice& b);

/// The slice that a text is, as ":1000", "10%:90%" or "-5%:"; none: it is no slice.
std::optional<RowSlice> row_slice(const std::string& text);

}  // namespace triax

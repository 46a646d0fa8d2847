// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples as rows of a token file: one in each, or several.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace triax {

/// The samples of each row, in the order in which they lie there.
class SampleRows {
 public:
  /// `row_of`: the row of each sample. Rows are numbered by their first samples; within a row
  /// samples ascend.
  explicit SampleRows(const std::vector<std::int32_t>& row_of);

  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  std::span<const std::int32_t> row(std::int64_t number) const;

 private:
  std::vector<std::int32_t> samples_;  // of all rows, one row after another
  std::vector<std::int64_t> begins_;   // of each row in samples_, and the end of the last
};

/// A row for each of `samples` samples.
SampleRows single_rows(std::size_t samples);

/// Samples of these lengths in rows of `row_length` tokens, none of which is cut: first-fit
/// decreasing (Johnson 1973), which takes at most 11/9 of the fewest rows. A function of the
/// lengths alone.
SampleRows packed_rows_of(const std::vector<std::int32_t>& lengths, std::int32_t row_length);

}  // namespace triax

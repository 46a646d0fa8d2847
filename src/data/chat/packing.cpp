// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/packing.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Free tokens of rows, with the most of each half of them: a binary tree in an array, root 1.
class FreeTokens {
 public:
  FreeTokens(std::size_t rows, std::int32_t row_length)
      : leaves_(std::bit_ceil(std::max<std::size_t>(rows, 1))), most_(2 * leaves_, row_length) {}

  // Takes `tokens` from the first row that has them; one for each sample is enough rows.
  std::int32_t take(std::int32_t tokens) {
    check(tokens >= 0 && tokens <= most_[1], "a sample of {} tokens for rows of {}", tokens,
          most_[1]);
    std::size_t at = 1;
    while (at < leaves_) at = most_[2 * at] >= tokens ? 2 * at : 2 * at + 1;
    const auto row = static_cast<std::int32_t>(at - leaves_);
    most_[at] -= tokens;
    for (at /= 2; at >= 1; at /= 2) most_[at] = std::max(most_[2 * at], most_[2 * at + 1]);
    return row;
  }

 private:
  std::size_t leaves_;
  std::vector<std::int32_t> most_;
};

}  // namespace

SampleRows::SampleRows(const std::vector<std::int32_t>& row_of) : samples_(row_of.size()) {
  constexpr std::int32_t none = -1;
  const std::int32_t most = row_of.empty() ? none : *std::ranges::max_element(row_of);
  std::vector<std::int32_t> number(static_cast<std::size_t>(most + 1), none);
  std::int32_t rows = 0;
  for (const std::int32_t row : row_of)
    if (std::int32_t& its = number[static_cast<std::size_t>(row)]; its == none) its = rows++;
  begins_.assign(static_cast<std::size_t>(rows) + 1, 0);
  const auto row_number = [&](std::size_t sample) {
    return static_cast<std::size_t>(number[static_cast<std::size_t>(row_of[sample])]);
  };
  for (std::size_t sample = 0; sample < row_of.size(); ++sample) ++begins_[row_number(sample) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<std::int64_t> next(begins_.begin(), begins_.end() - 1);
  for (std::size_t sample = 0; sample < row_of.size(); ++sample)
    samples_[static_cast<std::size_t>(next[row_number(sample)]++)] =
        static_cast<std::int32_t>(sample);
}

std::span<const std::int32_t> SampleRows::row(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  return std::span(samples_).subspan(static_cast<std::size_t>(begins_[at]),
                                     static_cast<std::size_t>(begins_[at + 1] - begins_[at]));
}

SampleRows single_rows(std::size_t samples) {
  std::vector<std::int32_t> row_of(samples);
  std::iota(row_of.begin(), row_of.end(), 0);
  return SampleRows(row_of);
}

SampleRows packed_rows_of(const std::vector<std::int32_t>& lengths, std::int32_t row_length) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t sample) { return lengths[sample]; });
  FreeTokens free(lengths.size(), row_length);
  std::vector<std::int32_t> row_of(lengths.size());
  for (const std::size_t sample : order) row_of[sample] = free.take(lengths[sample]);
  return SampleRows(row_of);
}

}  // namespace triax

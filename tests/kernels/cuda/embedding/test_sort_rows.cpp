// SPDX-License-Identifier: Apache-2.0
// The sort of a batch's rows by token, on the emulator.
#include "kernels/cuda/embedding/sort_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace triax::cuda {
namespace {

// Checks that targets ascend and that the rows of a token lie together in batch order.
void expect_in_order(const std::vector<std::int32_t>& tokens, std::int64_t first_token,
                     std::int64_t vocabulary) {
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const Targets target{tokens.data(), first_token, vocabulary};
  std::vector<std::int32_t> expected(tokens.size());
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::int32_t a, std::int32_t b) { return target(a) < target(b); });
  Arena measure;
  const RowOrder sizes(measure, rows, 1);
  const Buffer memory(measure.used());
  Arena scratch(memory);
  const RowOrder order(scratch, rows, 1);
  put_in_order(Stream(), order, target, rows);
  const auto row_at = [&](std::int64_t at) { return expected[static_cast<std::size_t>(at)]; };
  for (std::int64_t k = 0, first = 0, end = 0; k < rows; ++k) {
    if (k == end)
      for (first = k; end < rows && target(row_at(end)) == target(row_at(k));) ++end;
    ASSERT_EQ(order.row[k], row_at(k)) << k << " of " << rows;
    ASSERT_EQ(order.before[k], k - first) << k << " of " << rows;
    ASSERT_EQ(order.left[k], end - k) << k << " of " << rows;
  }
}

// Numbers of rows around the size of a CUDA block, and of the lists merged at a time.
TEST(SortRows, RowsOfATokenLieTogetherInTheirOrder) {
  for (const int rows : {1, 2, 255, 256, 257, 511, 2047, 2048, 2049, 5000, 16385})
    for (const int vocabulary : {1, 7, 50257}) {
      std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows));
      for (std::size_t r = 0; r < tokens.size(); ++r)
        tokens[r] = static_cast<std::int32_t>(r * 2654435761U % 4294967291U) & 0x7fffffff;
      for (std::int32_t& token : tokens) token %= vocabulary;
      if (rows > 3) tokens[2] = -1;  // padding
      expect_in_order(tokens, 0, vocabulary);
      expect_in_order(tokens, vocabulary / 3,
                      vocabulary / 2);  // most tokens belong to other shards
    }
}

TEST(SortRows, TheLargestToken) {
  expect_in_order({0x7fffffff, 5, -1, 0x7fffffff, 0}, 0, std::int64_t{1} << 31);
}

TEST(SortRows, NoRows) {
  expect_in_order({}, 0, 8);
}

}  // namespace
}  // namespace triax::cuda

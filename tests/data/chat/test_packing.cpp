// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/packing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/base/check.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<std::int32_t>;

std::vector<Numbers> all_rows(const SampleRows& rows) {
  std::vector<Numbers> all;
  for (std::int64_t row = 0; row < rows.size(); ++row)
    all.emplace_back(rows.row(row).begin(), rows.row(row).end());
  return all;
}

TEST(Packing, IsFirstFitDecreasing) {
  // By length: 7 (4), 5 (1), 4 (0), 4 (2), 3 (5), 2 (3). Rows of 10 tokens.
  EXPECT_THAT(all_rows(packed_rows_of({4, 5, 4, 2, 7, 3}, 10)),
              ElementsAre(Numbers{0, 1}, Numbers{2, 3}, Numbers{4, 5}));
  EXPECT_THAT(all_rows(packed_rows_of({10, 10}, 10)), ElementsAre(Numbers{0}, Numbers{1}));
  EXPECT_EQ(packed_rows_of({}, 10).size(), 0);
  EXPECT_THROW(packed_rows_of({11}, 10), Error);
}

TEST(Packing, RowsOfOneSample) {
  EXPECT_THAT(all_rows(single_rows(3)), ElementsAre(Numbers{0}, Numbers{1}, Numbers{2}));
}

TEST(Packing, EachSampleIsInOneRowThatHoldsIt) {
  constexpr std::int32_t length = 100;
  Numbers lengths;
  std::uint32_t seed = 1;
  for (int i = 0; i < 5000; ++i) {
    seed = seed * 1664525 + 1013904223;
    lengths.push_back(1 + static_cast<std::int32_t>((seed >> 16) % length));
  }
  const SampleRows rows = packed_rows_of(lengths, length);
  Numbers seen, firsts;
  for (const Numbers& row : all_rows(rows)) {
    std::int32_t tokens = 0;
    for (const std::int32_t sample : row) tokens += lengths[static_cast<std::size_t>(sample)];
    EXPECT_LE(tokens, length);
    EXPECT_TRUE(std::ranges::is_sorted(row));
    firsts.push_back(row.front());
    seen.insert(seen.end(), row.begin(), row.end());
  }
  EXPECT_TRUE(std::ranges::is_sorted(firsts)) << "rows are in the order of the samples";
  std::ranges::sort(seen);
  Numbers all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  const std::int64_t tokens = std::reduce(lengths.begin(), lengths.end(), std::int64_t{0});
  EXPECT_GT(static_cast<double>(tokens), 0.98 * length * static_cast<double>(rows.size()));
}

}  // namespace
}  // namespace triax::test

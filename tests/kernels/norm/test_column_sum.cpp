// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/column_sum.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/array.hpp"

namespace triax {
namespace {

TEST(ColumnSum, BlocksCoverTheRows) {
  EXPECT_EQ(row_blocks(0), 0);
  EXPECT_EQ(row_blocks(1), 1);
  EXPECT_EQ(row_blocks(rows_per_block), 1);
  EXPECT_EQ(row_blocks(rows_per_block + 1), 2);
  EXPECT_GE(column_sum_bytes(2, 10), 2 * 10 * sizeof(float));
}

TEST(ColumnSum, NormsOfADeviceMakePartialRowsOfFewerRows) {
  EXPECT_EQ(norm_blocks(8192, MemorySpace::host), row_blocks(8192));
  EXPECT_EQ(norm_blocks(8192, MemorySpace::device), 4 * row_blocks(8192));
}

class ColumnSumTypes : public testing::TestWithParam<DType> {};

TEST_P(ColumnSumTypes, AddsPartialRows) {
  for (const std::int64_t blocks : {0, 1, 5})
    for (const std::int64_t columns : {1, 255, 257, 600})
      for (const bool accumulate : {false, true}) {
        const std::vector<float> partials = test::random_values(blocks * columns, 1);
        test::Array out = test::Array::random(GetParam(), columns, 2);
        std::vector<double> expected(static_cast<std::size_t>(columns), 0.0);
        if (accumulate) expected = out.doubles();
        for (std::size_t i = 0; i < partials.size(); ++i)
          expected[i % expected.size()] += static_cast<double>(partials[i]);
        add_partial_rows(out.tensor(), partials.data(), blocks, accumulate);
        test::expect_close(out, expected, 1e-7, "column sums");
      }
}

INSTANTIATE_TEST_SUITE_P(Types, ColumnSumTypes, test::every_type());

}  // namespace
}  // namespace triax

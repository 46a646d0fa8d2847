#include "kernels/column_sum.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

TEST(ColumnSum, BlocksCoverTheRows) {
  EXPECT_EQ(row_blocks(0), 0);
  EXPECT_EQ(row_blocks(1), 1);
  EXPECT_EQ(row_blocks(rows_per_block), 1);
  EXPECT_EQ(row_blocks(rows_per_block + 1), 2);
  EXPECT_GE(column_sum_bytes(rows_per_block + 1, 10), 2 * 10 * sizeof(float));
}

TEST(ColumnSum, AddsPartialRows) {
  for (const std::int64_t blocks : {0, 1, 5})
    for (const std::int64_t columns : {1, 255, 257, 600})
      for (const bool accumulate : {false, true}) {
        const std::vector<float> partials = test::random_values(blocks * columns, 1);
        std::vector<float> out = test::random_values(columns, 2);
        std::vector<double> expected(out.size(), 0.0);
        if (accumulate) expected = test::widen(out);
        for (std::size_t i = 0; i < partials.size(); ++i) expected[i % out.size()] += partials[i];
        add_partial_rows(out.data(), partials.data(), blocks, columns, accumulate);
        test::expect_close(out, expected, 1e-7, "column sums");
      }
}

}  // namespace
}  // namespace triax

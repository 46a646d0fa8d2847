// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/tile_gemm_bf16.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/float16.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

float rounded(float value) {
  return Bf16(value);
}

float lower(std::uint32_t word) {
  return Bf16::from_bits(static_cast<std::uint16_t>(word));
}
float upper(std::uint32_t word) {
  return Bf16::from_bits(static_cast<std::uint16_t>(word >> 16U));
}

std::uint32_t word_of(float first, float second) {
  return std::uint32_t{Bf16(first).bits} | std::uint32_t{Bf16(second).bits} << 16U;
}

class PairProducts : public testing::Test {
  void SetUp() override {
    if (!has_pair_products()) GTEST_SKIP() << "a processor without AVX512-BF16";
  }
};

TEST_F(PairProducts, RoundNeighboursAlongRowsAndColumns) {
  for (const std::int64_t rows : {1, 2, 7, 64}) {
    constexpr std::int64_t columns = 64;
    const std::vector<float> tile = test::random_values(rows * columns, 1);
    std::vector<std::uint32_t> by_row(at(rows * columns / 2)),
        by_column(at((rows + 1) / 2 * columns));
    pairs_along_rows(by_row.data(), tile.data(), rows, columns);
    pairs_along_columns(by_column.data(), tile.data(), rows, columns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const float expected = rounded(tile[at(r * columns + c)]);
        const std::uint32_t row = by_row[at((r * columns + c) / 2)];
        EXPECT_EQ(c % 2 == 0 ? lower(row) : upper(row), expected);
        const std::uint32_t column = by_column[at(r / 2 * columns + c)];
        EXPECT_EQ(r % 2 == 0 ? lower(column) : upper(column), expected);
      }
    for (std::int64_t c = 0; rows % 2 == 1 && c < columns; ++c)
      EXPECT_EQ(upper(by_column[at(rows / 2 * columns + c)]), 0.0F);
  }
}

// k: an even number of elements. Beyond the triangle, a is zero.
void expect_like_reference(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed,
                           bool accumulate, Triangle triangle) {
  SCOPED_TRACE(fmt::format("m {} n {} k {} transposed {} accumulate {} triangle {}", m, n, k,
                           transposed, accumulate, int(triangle)));
  const std::int64_t width = whole_pair_columns(n);
  std::vector<float> a = test::random_values(m * k, 1), b = test::random_values(k * width, 2);
  for (float& value : a) value = rounded(value);
  for (float& value : b) value = rounded(value);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      if ((triangle == Triangle::a_lower && j > i) || (triangle == Triangle::a_upper && j < i))
        a[at(i * k + j)] = 0.0F;
  std::vector<std::uint32_t> left(at(m * k / 2)), right(at(k / 2 * width));
  for (std::int64_t j = 0; j < k / 2; ++j) {
    for (std::int64_t i = 0; i < m; ++i)
      left[at(transposed ? j * m + i : i * (k / 2) + j)] =
          word_of(a[at(i * k + 2 * j)], a[at(i * k + 2 * j + 1)]);
    for (std::int64_t c = 0; c < width; ++c)
      right[at(j * width + c)] = word_of(b[at(2 * j * width + c)], b[at((2 * j + 1) * width + c)]);
  }
  std::vector<float> c = test::random_values(m * width, 3);
  const std::vector<float> before = c;
  if (!accumulate) std::fill(c.begin(), c.end(), nan);
  const PairRegisters registers;
  pair_product({.rows = m,
                .columns = n,
                .depth = k / 2,
                .a = left.data(),
                .a_row_stride = transposed ? 1 : k / 2,
                .a_depth_stride = transposed ? m : 1,
                .b = right.data(),
                .b_stride = width,
                .c = c.data(),
                .c_stride = width,
                .accumulate = accumulate,
                .triangle = triangle});
  const auto expected =
      reference::matmul(test::to_double(Tensor(a.data(), {m, k})),
                        test::to_double(Tensor(b.data(), {k, width})), m, width, k);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      if (triangle == Triangle::c_lower && j > i) continue;
      const std::size_t place = at(i * width + j);
      ASSERT_NEAR(c[place], (accumulate ? before[place] : 0.0) + expected[place], 2e-5);
    }
}

TEST_F(PairProducts, EveryShapeOfEdges) {
  for (const std::int64_t m : {1, 5, 6, 7, 64})
    for (const std::int64_t n : {1, 16, 33, 64, 80})
      for (const std::int64_t k : {2, 6, 64})
        for (const bool transposed : {false, true})
          for (const bool accumulate : {false, true})
            expect_like_reference(m, n, k, transposed, accumulate, Triangle::none);
}

TEST_F(PairProducts, Triangles) {
  for (const std::int64_t size : {2, 6, 14, 64})
    for (const bool transposed : {false, true})
      for (const bool accumulate : {false, true}) {
        expect_like_reference(size, size, size, transposed, accumulate, Triangle::c_lower);
        expect_like_reference(size, 24, size, transposed, accumulate, Triangle::a_lower);
        expect_like_reference(size, 24, size, transposed, accumulate, Triangle::a_upper);
      }
}

}  // namespace
}  // namespace triax

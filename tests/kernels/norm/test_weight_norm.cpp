// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/weight_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/array.hpp"

namespace triax::weight_norm_test {
namespace {

constexpr std::int64_t rows = 9, columns = 131;

std::vector<float> values(std::int64_t count, unsigned seed) {
  return test::random_values(count, seed);
}

TEST(WeightNorm, SquaresAreSummedByRowsAndByColumns) {
  std::vector<float> w = values(rows * columns, 1);
  std::vector<double> of_rows(rows, 2.0), of_columns(columns, 3.0);
  const Tensor matrix(w.data(), {rows, columns});
  add_row_squares(Stream{}, Tensor(of_rows.data(), {rows}), matrix);
  add_column_squares(Stream{}, Tensor(of_columns.data(), {columns}), matrix);
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 2.0;
    for (std::int64_t c = 0; c < columns; ++c) sum += std::pow(w[r * columns + c], 2.0);
    EXPECT_NEAR(of_rows[r], sum, 1e-12 * sum);
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    double sum = 3.0;
    for (std::int64_t r = 0; r < rows; ++r) sum += std::pow(w[r * columns + c], 2.0);
    EXPECT_NEAR(of_columns[c], sum, 1e-12 * sum);
  }
}

// A magnitude that is the norm itself leaves its output as it is, bit for bit.
TEST(WeightNorm, FactorsAreMagnitudesOverNorms) {
  for (const DType type : {DType::f32, DType::bf16}) {
    std::vector<double> squares = {4.0, 1.0 + 1e-3, 0.0};
    std::vector<float> norms(3), factors(3);
    const Tensor n(norms.data(), {3}), f(factors.data(), {3});
    norms_of_squares(Stream{}, n, Tensor(squares.data(), {3}), type);
    test::Array magnitudes(type, norms);
    magnitude_factors(Stream{}, f, magnitudes.tensor(), n);
    EXPECT_EQ(factors, (std::vector<float>{1.0F, 1.0F, 1.0F}));
    test::Array twice(type, {4.0F, 0.5F, 7.0F});
    magnitude_factors(Stream{}, f, twice.tensor(), n, 1.0F);
    EXPECT_EQ(factors[0], 1.0F);
    EXPECT_NEAR(factors[1], -0.5, 1e-2);
    EXPECT_EQ(factors[2], 0.0F);
  }
}

TEST(WeightNorm, ColumnsAreScaledAroundTheBias) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    test::Array x = test::Array::random(type, rows * columns, 3);
    const test::Array bias = test::Array::random(type, columns, 4);
    std::vector<float> factors = values(columns, 5);
    test::Array y(type, rows * columns);
    const auto in = x.doubles(), shift = bias.doubles();
    for (const bool biased : {false, true}) {
      test::Array b = bias;
      scale_columns(Stream{}, y.tensor({rows, columns}), x.tensor({rows, columns}),
                    Tensor(factors.data(), {columns}), biased ? b.tensor() : Tensor{});
      const auto out = y.doubles();
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t c = i % columns;
        const double expected = factors[c] * in[i] + (biased ? (1.0 - factors[c]) * shift[c] : 0.0);
        EXPECT_NEAR(out[i], expected,
                    (1e-6 + test::rounding_of(type)) * (1.0 + std::abs(expected)));
      }
    }
  }
}

TEST(WeightNorm, TheGradientOfAMagnitudeIsASumOverRows) {
  for (const DType type : {DType::f32, DType::bf16})
    for (const bool accumulate : {false, true}) {
      test::Array dy = test::Array::random(type, rows * columns, 6);
      test::Array z = test::Array::random(type, rows * columns, 7);
      test::Array bias = test::Array::random(type, columns, 8);
      std::vector<float> norms(columns, 2.0F), out(columns, 5.0F);
      norms[3] = 0.0F;
      magnitude_backward(Stream{}, Tensor(out.data(), {columns}), dy.tensor({rows, columns}),
                         z.tensor({rows, columns}), bias.tensor(), Tensor(norms.data(), {columns}),
                         accumulate);
      const auto gradient = dy.doubles(), value = z.doubles(), shift = bias.doubles();
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = 0.0;
        for (std::size_t r = 0; r < rows; ++r)
          sum += gradient[r * columns + c] * (value[r * columns + c] - shift[c]) / 2.0;
        if (c == 3) sum = 0.0;
        EXPECT_NEAR(out[c], sum + (accumulate ? 5.0 : 0.0), 1e-6 * (5.0 + std::abs(sum)));
      }
    }
}

}  // namespace
}  // namespace triax::weight_norm_test

// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/elementwise.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>

#include "kernels/norm/column_sum.hpp"
#include "kernels/reference/elementwise.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t rows, columns;
};

class Elementwise : public testing::TestWithParam<std::tuple<test::TypePair, Size>> {
 protected:
  test::Array random(std::int64_t count, unsigned seed) const {
    return test::Array::random(types.type, count, seed);
  }
  Tensor matrix(test::Array& values) { return values.tensor({rows, columns}); }

  test::TypePair types = std::get<0>(GetParam());
  std::int64_t rows = std::get<1>(GetParam()).rows;
  std::int64_t columns = std::get<1>(GetParam()).columns;
  test::Array x = random(rows * columns, 1);
  test::Array a = random(rows * columns, 2);
  test::Array bias = random(columns, 3);
  test::Array y = random(rows * columns, 4);
};

TEST_P(Elementwise, ResidualWithBias) {
  const auto expected = reference::residual_forward(x.doubles(), a.doubles(), bias.doubles());
  test::run(residual_forward, matrix(y), matrix(x), matrix(a), bias.tensor());
  test::expect_close(y, expected, tolerance, "y");
  test::Array over_x = x;
  test::run(residual_forward, matrix(over_x), matrix(over_x), matrix(a), bias.tensor());
  EXPECT_EQ(over_x, y);
  test::run(residual_forward, matrix(a), matrix(x), matrix(a), bias.tensor());
  EXPECT_EQ(a, y);
}

TEST_P(Elementwise, ResidualWithoutBiasIsAccumulate) {
  test::run(residual_forward, matrix(y), matrix(x), matrix(a), {});
  test::run(accumulate, matrix(x), matrix(a));
  EXPECT_EQ(x, y);
}

TEST_P(Elementwise, AccumulateInTheTypeOfGradients) {
  test::Array sum = test::Array::random(types.gradients, rows * columns, 5);
  std::vector<double> expected = sum.doubles();
  test::add(expected, x.doubles());
  test::run(accumulate, sum.tensor(), x.tensor());
  test::expect_close(sum, expected, tolerance, "sum");
}

TEST_P(Elementwise, AddBiasIsTheResidualOfABias) {
  test::Array zeros(types.type, rows * columns);
  test::run(residual_forward, matrix(y), matrix(x), matrix(zeros), bias.tensor());
  test::run(add_bias, matrix(x), bias.tensor());
  EXPECT_EQ(x, y);
}

TEST_P(Elementwise, Scale) {
  std::vector<double> expected = x.doubles();
  for (double& value : expected) value *= 0.375;
  test::run(scale, matrix(y), matrix(x), 0.375F);
  test::expect_close(y, expected, tolerance, "y");
  test::run(scale, matrix(x), matrix(x), 0.375F);
  EXPECT_EQ(x, y);
}

TEST_P(Elementwise, CopyRowsIntoWiderOnes) {
  const std::int64_t stride = columns + 3;
  test::Array wide(types.type, rows * stride, 7.0F);
  test::run(copy_rows, wide.tensor({rows, stride}).slice(1, 2, columns), matrix(x));
  test::Array back(types.type, rows * columns);
  test::run(copy_rows, matrix(back), wide.tensor({rows, stride}).slice(1, 2, columns));
  EXPECT_EQ(back, x);
  const std::vector<float> all = wide.floats();
  for (std::int64_t r = 0; r < rows; ++r)
    for (const std::int64_t column : {0L, 1L, columns + 2})
      EXPECT_EQ(all[static_cast<std::size_t>(r * stride + column)], 7.0F);
}

TEST_P(Elementwise, BiasBackward) {
  test::Array dbias = test::Array::random(types.gradients, columns, 5);
  const test::Array before = dbias;
  auto expected = reference::bias_backward(x.doubles(), static_cast<std::size_t>(columns));
  test::Scratch scratch(bias_backward_scratch_bytes(rows, columns));
  test::run(bias_backward, dbias.tensor(), matrix(x), false, scratch.arena());
  test::expect_close(dbias, expected, tolerance, "dbias");
  EXPECT_EQ(scratch.arena().used(), 0U);
  EXPECT_EQ(scratch.arena().high_water(), bias_backward_scratch_bytes(rows, columns));

  test::Array again = before;
  test::run(bias_backward, again.tensor(), matrix(x), true, scratch.arena());
  test::add(expected, before.doubles());
  test::expect_close(again, expected, tolerance, "accumulated dbias");
}

TEST_P(Elementwise, BiasBackwardOfColumnSlice) {
  test::Array wide = test::spread(x, columns, columns + 7, 100.0F);
  test::Array dbias(types.gradients, columns);
  test::Array expected(types.gradients, columns);
  test::Scratch scratch(bias_backward_scratch_bytes(rows, columns));
  test::run(bias_backward, dbias.tensor(), wide.tensor({rows, columns + 7}).slice(1, 0, columns),
            false, scratch.arena());
  test::run(bias_backward, expected.tensor(), matrix(x), false, scratch.arena());
  EXPECT_EQ(dbias, expected);
}

// Rows are summed in chunks, each in row order in float32: the same bits on any number of threads.
TEST_P(Elementwise, BiasBackwardAddsRowsInOrder) {
  std::vector<float> sums(static_cast<std::size_t>(row_blocks(rows) * columns), 0.0F);
  const std::vector<float> values = x.floats();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      sums[static_cast<std::size_t>(r / rows_per_block * columns + c)] +=
          values[static_cast<std::size_t>(r * columns + c)];
  test::Array expected(types.gradients, columns);
  add_partial_rows(expected.tensor(), sums.data(), row_blocks(rows), false);
  test::Scratch scratch(bias_backward_scratch_bytes(rows, columns), MemorySpace::host);
  const int threads_before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    test::Array dbias(types.gradients, columns, 9.0F);
    bias_backward(Stream(), dbias.tensor(), matrix(x), false, scratch.arena());
    EXPECT_EQ(dbias, expected) << threads << " threads";
  }
  omp_set_num_threads(threads_before);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Elementwise,
                         testing::Combine(test::every_type_pair(),
                                          testing::Values(Size{1, 1}, Size{1, 70}, Size{6, 33},
                                                          Size{65, 300}, Size{515, 20},
                                                          Size{20, 1000}, Size{127, 49},
                                                          Size{130, 1100})));

class Convert : public testing::TestWithParam<std::tuple<DType, DType>> {
 protected:
  DType from = std::get<0>(GetParam());
  DType to = std::get<1>(GetParam());
};

// Values are equal or both NaN, whose bits may differ.
void expect_same_numbers(const test::Array& actual, const test::Array& expected) {
  const std::vector<float> values = actual.floats();
  const std::vector<float> wanted = expected.floats();
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i]) || !std::isnan(wanted[i])) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(wanted[i]))
          << i;
    }
}

// Vector code converts numbers of every kind, NaN included, as the element types convert one.
TEST_P(Convert, IsTheConversionOfEachElement) {
  constexpr std::uint32_t step = 4099;  // odd, so that all patterns of low bits occur
  std::vector<float> values((std::uint64_t{1} << 32U) / step);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i) * step);
  test::Array src(from, values);
  test::Array dst(to, src.count());
  test::run(convert, dst.tensor(), src.tensor());
  expect_same_numbers(dst, test::Array(to, src.floats()));
}

TEST_P(Convert, EveryPatternOf16BitsComesBack) {
  if (from == DType::f32) return;
  std::vector<std::uint16_t> patterns;
  for (unsigned bits = 0; bits < 0x10000U; ++bits)
    if (const unsigned exponent = from == DType::bf16 ? 0x7f80U : 0x7c00U;
        (bits & 0x7fffU) <= exponent)  // NaN loses its payload
      patterns.push_back(static_cast<std::uint16_t>(bits));
  const auto count = static_cast<std::int64_t>(patterns.size());
  const Tensor src(patterns.data(), from, {count});
  test::Array wide(DType::f32, count);
  std::vector<std::uint16_t> back(patterns.size());
  test::run(convert, wide.tensor(), src);
  test::run(convert, Tensor(back.data(), from, {count}), wide.tensor());
  EXPECT_EQ(back, patterns);
}

INSTANTIATE_TEST_SUITE_P(Types, Convert, testing::Combine(test::every_type(), test::every_type()));

TEST(Accumulate, RefusesSumsOfFewerBits) {
  std::vector<float> memory(4);
  const Tensor wide(memory.data(), {2});
  const Tensor half(memory.data(), DType::f16, {2});
  const Tensor bf16(memory.data(), DType::bf16, {2});
  EXPECT_THROW(test::run(accumulate, half, wide), Error);
  EXPECT_THROW(test::run(accumulate, half, bf16), Error);
}

TEST(Elementwise, RefusesShapesThatDiffer) {
  std::vector<float> memory(64);
  const Tensor a(memory.data(), {2, 3});
  const Tensor b(memory.data(), {3, 2});
  EXPECT_THROW(test::run(residual_forward, a, a, b, {}), Error);
  EXPECT_THROW(test::run(accumulate, a, Tensor(memory.data(), {5})), Error);
}

}  // namespace
}  // namespace triax

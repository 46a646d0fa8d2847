#include "kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/elementwise.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t rows, columns;
};

class Elementwise : public testing::TestWithParam<Size> {
 protected:
  Tensor matrix(std::vector<float>& values) { return Tensor(values.data(), {rows, columns}); }
  Tensor row(std::vector<float>& values) { return Tensor(values.data(), {columns}); }

  std::int64_t rows = GetParam().rows;
  std::int64_t columns = GetParam().columns;
  std::vector<float> x = test::random_values(rows * columns, 1);
  std::vector<float> a = test::random_values(rows * columns, 2);
  std::vector<float> bias = test::random_values(columns, 3);
  std::vector<float> y = test::random_values(rows * columns, 4);
};

TEST_P(Elementwise, ResidualWithBias) {
  const auto expected =
      reference::residual_forward(test::widen(x), test::widen(a), test::widen(bias));
  residual_forward(Stream(), matrix(y), matrix(x), matrix(a), row(bias));
  test::expect_close(y, expected, tolerance, "y");
  std::vector<float> over_x = x;
  residual_forward(Stream(), matrix(over_x), matrix(over_x), matrix(a), row(bias));
  EXPECT_EQ(over_x, y);
  residual_forward(Stream(), matrix(a), matrix(x), matrix(a), row(bias));
  EXPECT_EQ(a, y);
}

TEST_P(Elementwise, ResidualWithoutBiasIsAdd) {
  residual_forward(Stream(), matrix(y), matrix(x), matrix(a), {});
  add(Stream(), matrix(x), matrix(a));
  EXPECT_EQ(x, y);
}

TEST_P(Elementwise, AddBiasIsTheResidualOfABias) {
  std::vector<float> zeros(x.size());
  residual_forward(Stream(), matrix(y), matrix(x), matrix(zeros), row(bias));
  add_bias(Stream(), matrix(x), row(bias));
  EXPECT_EQ(x, y);
}

TEST_P(Elementwise, Scale) {
  std::vector<float> expected = x;
  for (float& value : expected) value *= 0.3F;
  scale(Stream(), matrix(x), 0.3F);
  EXPECT_EQ(x, expected);
}

TEST_P(Elementwise, BiasBackward) {
  std::vector<float> dbias = test::random_values(columns, 5);
  const std::vector<float> before = dbias;
  auto expected = reference::bias_backward(test::widen(x), static_cast<std::size_t>(columns));
  test::Scratch scratch(bias_backward_scratch_bytes(rows, columns));
  bias_backward(Stream(), row(dbias), matrix(x), false, scratch.arena());
  test::expect_close(dbias, expected, tolerance, "dbias");
  EXPECT_EQ(scratch.arena().used(), 0U);
  EXPECT_EQ(scratch.arena().high_water(), bias_backward_scratch_bytes(rows, columns));

  std::vector<float> again = before;
  bias_backward(Stream(), row(again), matrix(x), true, scratch.arena());
  for (std::size_t c = 0; c < expected.size(); ++c) expected[c] += before[c];
  test::expect_close(again, expected, tolerance, "accumulated dbias");
}

TEST_P(Elementwise, BiasBackwardOfColumnSlice) {
  const std::size_t width = static_cast<std::size_t>(columns);
  std::vector<float> wide = test::spread(x, width, width + 7, 100.0F);
  std::vector<float> dbias(width);
  std::vector<float> expected(width);
  test::Scratch scratch(bias_backward_scratch_bytes(rows, columns));
  bias_backward(Stream(), row(dbias), Tensor(wide.data(), {rows, columns + 7}).slice(1, 0, columns),
                false, scratch.arena());
  bias_backward(Stream(), row(expected), matrix(x), false, scratch.arena());
  EXPECT_EQ(dbias, expected);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Elementwise,
                         testing::Values(Size{1, 1}, Size{1, 70}, Size{6, 33}, Size{65, 300},
                                         Size{515, 20}, Size{20, 1000}));

TEST(Elementwise, RefusesShapesThatDiffer) {
  std::vector<float> memory(64);
  const Tensor a(memory.data(), {2, 3});
  const Tensor b(memory.data(), {3, 2});
  EXPECT_THROW(residual_forward(Stream(), a, a, b, {}), Error);
  EXPECT_THROW(add(Stream(), a, Tensor(memory.data(), {5})), Error);
}

}  // namespace
}  // namespace triax

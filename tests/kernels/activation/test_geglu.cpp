// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/geglu.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/geglu.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t rows, columns;
};

class Geglu : public testing::TestWithParam<std::tuple<DType, Size>> {};

TEST_P(Geglu, AgreesWithReference) {
  const auto [dtype, size] = GetParam();
  const auto [rows, columns] = size;
  test::Array x = test::Array::random(dtype, rows * 2 * columns, 1, 4.0F);
  test::Array dy = test::Array::random(dtype, rows * columns, 2);
  test::Array y(dtype, rows * columns);
  test::Array again(dtype, rows * columns);
  test::Array dx(dtype, rows * 2 * columns);
  const Shape half = {rows, columns};
  const Shape full = {rows, 2 * columns};
  const auto r = static_cast<std::size_t>(rows);
  const auto c = static_cast<std::size_t>(columns);
  const auto expected = reference::geglu_forward(x.doubles(), r, c);
  const auto gradient = reference::geglu_backward(dy.doubles(), x.doubles(), r, c);

  test::run(geglu_forward, y.tensor(half), x.tensor(full));
  test::expect_close(y, expected, test::with_coarse_math(dtype, tolerance), "y");
  test::run(geglu_backward, dx.tensor(full), again.tensor(half), dy.tensor(half), x.tensor(full));
  test::expect_close(dx, gradient, test::with_coarse_math(dtype, tolerance), "dx");
  test::expect_close(again, expected, test::with_coarse_math(dtype, tolerance),
                     "y of the backward pass");

  test::run(geglu_backward, dx.tensor(full), dy.tensor(half), dy.tensor(half), x.tensor(full));
  test::expect_close(dx, gradient, test::with_coarse_math(dtype, tolerance), "dx where y is dy");
  EXPECT_EQ(dy, again);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Geglu,
                         testing::Combine(test::every_type(),
                                          testing::Values(Size{1, 1}, Size{1, 37}, Size{5, 64},
                                                          Size{33, 129})));

TEST(Geglu, LargeGates) {
  std::vector<float> x = {-200.0F, 200.0F, 3.0F, 3.0F};  // gates -200 and 200, ups 3 and 3
  std::vector<float> dy = {1.0F, 1.0F};
  std::vector<float> y(2);
  std::vector<float> dx(4);
  test::run(geglu_backward, Tensor(dx.data(), {1, 4}), Tensor(y.data(), {1, 2}),
            Tensor(dy.data(), {1, 2}), Tensor(x.data(), {1, 4}));
  EXPECT_EQ(y, (std::vector<float>{0.0F, 600.0F}));
  EXPECT_EQ(dx, (std::vector<float>{0.0F, 3.0F, 0.0F, 200.0F}));
}

TEST(Geglu, RefusesShapesThatDoNotFit) {
  std::vector<float> memory(16);
  EXPECT_THROW(
      test::run(geglu_forward, Tensor(memory.data(), {2, 3}), Tensor(memory.data(), {2, 4})),
      Error);
}

TEST(GegluReference, GradientIsThatOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 10, 3));
  const auto dy = test::widen(test::random_values(3 * 5, 4));
  test::expect_gradient(
      [&](const std::vector<double>& at) {
        return test::dot(reference::geglu_forward(at, 3, 5), dy);
      },
      x, reference::geglu_backward(dy, x, 3, 5), "dx");
}

}  // namespace
}  // namespace triax

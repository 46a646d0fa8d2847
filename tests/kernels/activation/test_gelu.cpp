// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/reference/gelu.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

class Gelu : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {
 protected:
  DType dtype = std::get<0>(GetParam());
  std::int64_t n = std::get<1>(GetParam());
  test::Array x = test::Array::random(dtype, n, 1, 3.0F);
  test::Array dy = test::Array::random(dtype, n, 2);
  test::Array y = test::Array(dtype, n);
  test::Array dx = test::Array(dtype, n);
};

TEST_P(Gelu, AgreesWithReference) {
  test::Array again(dtype, n);
  const auto expected = reference::gelu_forward(x.doubles());
  test::run(gelu_forward, y.tensor(), x.tensor());
  test::expect_close(y, expected, test::with_coarse_math(dtype, tolerance), "y");
  test::run(gelu_backward, dx.tensor(), again.tensor(), dy.tensor(), x.tensor());
  test::expect_close(dx, reference::gelu_backward(dy.doubles(), x.doubles()),
                     test::with_coarse_math(dtype, tolerance), "dx");
  test::expect_close(again, expected, test::with_coarse_math(dtype, tolerance),
                     "y of the backward pass");
}

TEST_P(Gelu, InPlace) {
  test::run(gelu_backward, dx.tensor(), y.tensor(), dy.tensor(), x.tensor());
  test::run(gelu_backward, dy.tensor(), y.tensor(), dy.tensor(), x.tensor());
  EXPECT_EQ(dy, dx);
  test::run(gelu_forward, y.tensor(), x.tensor());
  test::run(gelu_forward, x.tensor(), x.tensor());
  EXPECT_EQ(x, y);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Gelu,
                         testing::Combine(test::every_type(), testing::Values(1, 17, 1000, 20011)));

TEST(Gelu, Tails) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-100.0F, -10.0F, -5.0F, 0.0F, 10.0F, 100.0F, infinity};
  std::vector<float> dy(x.size(), 1.0F);
  std::vector<float> y(x.size());
  std::vector<float> dx(x.size());
  const Shape shape = {7};
  test::run(gelu_backward, Tensor(dx.data(), shape), Tensor(y.data(), shape),
            Tensor(dy.data(), shape), Tensor(x.data(), shape));
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(dx[0], 0.0F);
  // An exponent of -15 has a rounding error of 1e-6 in float32.
  EXPECT_NEAR(y[2], reference::gelu(-5.0), 3e-6 * std::fabs(reference::gelu(-5.0)))
      << "the lower tail keeps its relative precision";
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(dx[3], 0.5F);
  EXPECT_EQ(y[5], 100.0F);
  EXPECT_EQ(dx[5], 1.0F);
  EXPECT_EQ(y[6], infinity);
}

TEST(GeluReference, GradientIsThatOfTheForwardPass) {
  const auto x = test::widen(test::random_values(50, 3));
  const auto dy = test::widen(test::random_values(50, 4));
  test::expect_gradient(
      [&](const std::vector<double>& at) { return test::dot(reference::gelu_forward(at), dy); }, x,
      reference::gelu_backward(dy, x), "dx");
}

}  // namespace
}  // namespace triax

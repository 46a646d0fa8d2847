// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/gelu.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

class GeluOfTensors : public testing::TestWithParam<std::tuple<DType, std::int64_t, Gelu>> {
 protected:
  DType dtype = std::get<0>(GetParam());
  std::int64_t n = std::get<1>(GetParam());
  Gelu kind = std::get<2>(GetParam());
  // Only the tanh approximation is coarse in 16 bits.
  double bound() const {
    return kind == Gelu::tanh ? test::with_coarse_math(dtype, tolerance) : tolerance;
  }
  test::Array x = test::Array::random(dtype, n, 1, 3.0F);
  test::Array dy = test::Array::random(dtype, n, 2);
  test::Array y = test::Array(dtype, n);
  test::Array dx = test::Array(dtype, n);
};

TEST_P(GeluOfTensors, AgreesWithReference) {
  test::Array again(dtype, n);
  const auto expected = reference::gelu_forward(x.doubles(), kind);
  test::run(gelu_forward, y.tensor(), x.tensor(), kind);
  test::expect_close(y, expected, bound(), "y");
  test::run(gelu_backward, dx.tensor(), again.tensor(), dy.tensor(), x.tensor(), kind);
  test::expect_close(dx, reference::gelu_backward(dy.doubles(), x.doubles(), kind), bound(), "dx");
  test::expect_close(again, expected, bound(), "y of the backward pass");
}

TEST_P(GeluOfTensors, InPlace) {
  test::run(gelu_backward, dx.tensor(), y.tensor(), dy.tensor(), x.tensor(), kind);
  test::run(gelu_backward, dy.tensor(), y.tensor(), dy.tensor(), x.tensor(), kind);
  EXPECT_EQ(dy, dx);
  test::run(gelu_forward, y.tensor(), x.tensor(), kind);
  test::run(gelu_forward, x.tensor(), x.tensor(), kind);
  EXPECT_EQ(x, y);
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, GeluOfTensors,
                         testing::Combine(test::every_type(), testing::Values(1, 17, 1000, 20011),
                                          testing::Values(Gelu::tanh, Gelu::erf)));

TEST(GeluTails, TanhApproximation) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-100.0F, -10.0F, -5.0F, 0.0F, 10.0F, 100.0F, infinity};
  std::vector<float> dy(x.size(), 1.0F);
  std::vector<float> y(x.size());
  std::vector<float> dx(x.size());
  const Shape shape = {7};
  test::run(gelu_backward, Tensor(dx.data(), shape), Tensor(y.data(), shape),
            Tensor(dy.data(), shape), Tensor(x.data(), shape), Gelu::tanh);
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

// The value keeps its relative precision however small it is. (The slope passes through zero.)
TEST(GeluTails, ErrorFunction) {
  std::vector<float> x;
  for (float at = -13.0F; at <= 13.0F; at += 0.0173F) x.push_back(at);
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  std::vector<float> dy(x.size(), 1.0F), y(x.size()), dx(x.size());
  test::run(gelu_backward, Tensor(dx.data(), shape), Tensor(y.data(), shape),
            Tensor(dy.data(), shape), Tensor(x.data(), shape), Gelu::erf);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = reference::erf_gelu(double{x[i]});
    ASSERT_NEAR(y[i], value, tolerance * std::fabs(value)) << x[i];
    ASSERT_NEAR(dx[i], reference::erf_gelu_derivative(double{x[i]}), 3e-7) << x[i];
  }
}

TEST(GeluTails, ErrorFunctionFarOut) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-1e30F, -100.0F, 0.0F, 100.0F, 1e30F, infinity, std::nanf("")};
  std::vector<float> dy(x.size(), 1.0F), y(x.size()), dx(x.size());
  const Shape shape = {7};
  test::run(gelu_backward, Tensor(dx.data(), shape), Tensor(y.data(), shape),
            Tensor(dy.data(), shape), Tensor(x.data(), shape), Gelu::erf);
  for (const std::size_t i : {0, 1, 2}) EXPECT_EQ(y[i], 0.0F) << x[i];
  for (const std::size_t i : {3, 4, 5}) EXPECT_EQ(y[i], x[i]);
  EXPECT_TRUE(std::isnan(y[6]));
  EXPECT_EQ(dx[1], 0.0F);
  EXPECT_EQ(dx[2], 0.5F);
  EXPECT_EQ(dx[3], 1.0F);
  EXPECT_TRUE(std::isnan(dx[6]));
}

TEST(GeluReference, GradientIsThatOfTheForwardPass) {
  const auto x = test::widen(test::random_values(50, 3));
  const auto dy = test::widen(test::random_values(50, 4));
  for (const Gelu kind : {Gelu::tanh, Gelu::erf})
    test::expect_gradient(
        [&](const std::vector<double>& at) {
          return test::dot(reference::gelu_forward(at, kind), dy);
        },
        x, reference::gelu_backward(dy, x, kind), "dx");
}

}  // namespace
}  // namespace triax

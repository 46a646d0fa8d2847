#include "kernels/swiglu.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/swiglu.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

constexpr double tolerance = 1e-6;

struct Size {
  std::int64_t rows, columns;
};

class Swiglu : public testing::TestWithParam<Size> {};

TEST_P(Swiglu, AgreesWithReference) {
  const auto [rows, columns] = GetParam();
  std::vector<float> x = test::random_values(rows * 2 * columns, 1);
  for (float& value : x) value *= 4.0F;
  std::vector<float> dy = test::random_values(rows * columns, 2);
  std::vector<float> y(dy.size());
  std::vector<float> again(dy.size());
  std::vector<float> dx(x.size());
  const Shape half = {rows, columns};
  const Shape full = {rows, 2 * columns};
  const auto r = static_cast<std::size_t>(rows);
  const auto c = static_cast<std::size_t>(columns);
  const auto expected = reference::swiglu_forward(test::widen(x), r, c);
  const auto gradient = reference::swiglu_backward(test::widen(dy), test::widen(x), r, c);

  swiglu_forward(Stream(), Tensor(y.data(), half), Tensor(x.data(), full));
  test::expect_close(y, expected, tolerance, "y");
  swiglu_backward(Stream(), Tensor(dx.data(), full), Tensor(again.data(), half),
                  Tensor(dy.data(), half), Tensor(x.data(), full));
  test::expect_close(dx, gradient, tolerance, "dx");
  test::expect_close(again, expected, tolerance, "y of the backward pass");

  swiglu_backward(Stream(), Tensor(dx.data(), full), Tensor(dy.data(), half),
                  Tensor(dy.data(), half), Tensor(x.data(), full));
  test::expect_close(dx, gradient, tolerance, "dx where y is dy");
  EXPECT_EQ(dy, again);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Swiglu,
                         testing::Values(Size{1, 1}, Size{1, 37}, Size{5, 64}, Size{33, 129}));

TEST(Swiglu, LargeGates) {
  std::vector<float> x = {-200.0F, 200.0F, 3.0F, 3.0F};  // gates -200 and 200, ups 3 and 3
  std::vector<float> dy = {1.0F, 1.0F};
  std::vector<float> y(2);
  std::vector<float> dx(4);
  swiglu_backward(Stream(), Tensor(dx.data(), {1, 4}), Tensor(y.data(), {1, 2}),
                  Tensor(dy.data(), {1, 2}), Tensor(x.data(), {1, 4}));
  EXPECT_EQ(y, (std::vector<float>{0.0F, 600.0F}));
  EXPECT_EQ(dx, (std::vector<float>{0.0F, 3.0F, 0.0F, 200.0F}));
}

TEST(Swiglu, RefusesShapesThatDoNotFit) {
  std::vector<float> memory(16);
  EXPECT_THROW(
      swiglu_forward(Stream(), Tensor(memory.data(), {2, 3}), Tensor(memory.data(), {2, 4})),
      Error);
}

TEST(SwigluReference, GradientIsThatOfTheForwardPass) {
  const auto x = test::widen(test::random_values(3 * 10, 3));
  const auto dy = test::widen(test::random_values(3 * 5, 4));
  test::expect_gradient(
      [&](const std::vector<double>& at) {
        return test::dot(reference::swiglu_forward(at, 3, 5), dy);
      },
      x, reference::swiglu_backward(dy, x, 3, 5), "dx");
}

}  // namespace
}  // namespace triax

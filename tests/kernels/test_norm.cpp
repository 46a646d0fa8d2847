#include "kernels/norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/norm.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/matrix.hpp"

namespace triax {
namespace {

class Norm : public testing::TestWithParam<std::int64_t> {};

TEST_P(Norm, SumsAgreeWithReferenceInDouble) {
  std::vector<float> x = test::random_values(GetParam(), 1);
  const Tensor view(x.data(), {GetParam()});
  double magnitude = 0.0;
  for (const float value : x) magnitude += std::fabs(static_cast<double>(value));
  EXPECT_NEAR(sum(Stream(), view), reference::sum(test::widen(x)), 1e-12 * magnitude);
  const double squares = reference::sum_of_squares(test::widen(x));
  EXPECT_NEAR(sum_of_squares(Stream(), view), squares, 1e-12 * squares);
  EXPECT_EQ(sum_of_squares(Stream(), view), sum_of_squares(Stream(), view))
      << "the same bits each time";
}

INSTANTIATE_TEST_SUITE_P(Sizes, Norm, testing::Values(1, 3, 255, 256, 257, 10007, 300001));

TEST(Norm, OfNothing) {
  float none = 1.0F;
  EXPECT_EQ(sum(Stream(), Tensor(&none, {0})), 0.0);
  EXPECT_EQ(sum_of_squares(Stream(), Tensor(&none, {0})), 0.0);
}

TEST(Norm, SquaresBeyondFloat) {
  std::vector<float> x(5, 1e30F);
  EXPECT_NEAR(sum_of_squares(Stream(), Tensor(x.data(), {5})), 5e60, 1e55);
}

TEST(Norm, NotANumberShows) {
  std::vector<float> x(100, 1.0F);
  x[57] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum_of_squares(Stream(), Tensor(x.data(), {100}))));
}

TEST(Norm, RefusesStridedViews) {
  std::vector<float> x(12);
  EXPECT_THROW(sum(Stream(), Tensor(x.data(), {3, 4}).slice(1, 0, 2)), Error);
}

}  // namespace
}  // namespace triax

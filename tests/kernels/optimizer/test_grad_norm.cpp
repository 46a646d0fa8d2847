// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/grad_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reference/grad_norm.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

double sum(const Tensor& x) {
  double total = 0.0;
  test::run(add_sum, Tensor(&total, {1}), x);
  return total;
}

double sum_of_squares(const Tensor& x) {
  double total = 0.0;
  test::run(add_sum_of_squares, Tensor(&total, {1}), x);
  return total;
}

class Norm : public testing::TestWithParam<std::tuple<DType, std::int64_t>> {
 protected:
  std::int64_t n = std::get<1>(GetParam());
  test::Array x = test::Array::random(std::get<0>(GetParam()), n, 1);
  Tensor view = x.tensor();
};

TEST_P(Norm, SumsAgreeWithReferenceInDouble) {
  double magnitude = 0.0;
  for (const double value : x.doubles()) magnitude += std::fabs(value);
  EXPECT_NEAR(sum(view), reference::sum(x.doubles()), 1e-12 * magnitude);
  const double squares = reference::sum_of_squares(x.doubles());
  EXPECT_NEAR(sum_of_squares(view), squares, 1e-12 * squares);
  EXPECT_EQ(sum_of_squares(view), sum_of_squares(view)) << "the same bits each time";
}

TEST_P(Norm, SumsAddToATotalInMemory) {
  double total = 0.5;
  test::run(add_sum, Tensor(&total, {1}), view);
  EXPECT_EQ(total, 0.5 + sum(view));
  total = 0.5;
  test::run(add_sum_of_squares, Tensor(&total, {1}), view);
  EXPECT_EQ(total, 0.5 + sum_of_squares(view));
}

INSTANTIATE_TEST_SUITE_P(TypesAndSizes, Norm,
                         testing::Combine(test::every_type(),
                                          testing::Values(1, 3, 255, 256, 257, 10007, 300001)));

TEST(Norm, TotalsAreOneDouble) {
  std::vector<float> x(4);
  std::vector<double> totals(2);
  const Tensor view(x.data(), {4});
  EXPECT_THROW(test::run(add_sum, view.slice(0, 0, 1), view), Error);
  EXPECT_THROW(test::run(add_sum, Tensor(totals.data(), {2}), view), Error);
}

TEST(Norm, OfNothing) {
  float none = 1.0F;
  EXPECT_EQ(sum(Tensor(&none, {0})), 0.0);
  EXPECT_EQ(sum_of_squares(Tensor(&none, {0})), 0.0);
}

TEST(Norm, SquaresBeyondFloat) {
  std::vector<float> x(5, 1e30F);
  EXPECT_NEAR(sum_of_squares(Tensor(x.data(), {5})), 5e60, 1e55);
}

TEST(Norm, NotANumberShows) {
  std::vector<float> x(100, 1.0F);
  x[57] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sum_of_squares(Tensor(x.data(), {100}))));
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

float factor(double squares, double loss, const ClipRule& rule, float before = 1.0F) {
  std::vector<double> sums = {squares, loss};
  test::run(clip_factor, Tensor(&before, {1}), Tensor(sums.data(), {2}), rule);
  return before;
}

TEST(ClipFactor, ClipsTheNormWithoutTheLossScale) {
  EXPECT_EQ(factor(9.0, 1.0, {}), 1.0F) << "nothing is clipped";
  EXPECT_EQ(factor(9.0, 1.0, {.most = 4.0}), 1.0F);
  EXPECT_NEAR(factor(9.0, 1.0, {.most = 1.5}), 0.5, 1e-6);
  EXPECT_NEAR(factor(9.0 * 64, 1.0, {.most = 1.5, .loss_scale = 8.0}), 0.5 / 8.0, 1e-7);
  EXPECT_EQ(factor(0.0, 1.0, {.most = 1.5}, 0.25F), 1.0F) << "the one before does not count";
}

TEST(ClipFactor, IsNotANumberWhereTheStepCannotBeUsed) {
  for (const double bad : {inf, -inf, double{nan}}) {
    EXPECT_TRUE(std::isnan(factor(bad, 1.0, {.most = 1.0}))) << bad;
    EXPECT_TRUE(std::isnan(factor(1.0, bad, {}))) << bad;
  }
}

TEST(ClipFactor, StaysSoUntilTheHostHasSeenIt) {
  EXPECT_TRUE(std::isnan(factor(9.0, 1.0, {.most = 4.0}, nan)));
}

TEST(Norm, RefusesStridedViews) {
  std::vector<float> x(12);
  EXPECT_THROW(sum(Tensor(x.data(), {3, 4}).slice(1, 0, 2)), Error);
}

}  // namespace
}  // namespace triax

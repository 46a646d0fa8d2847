// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/coarse_math.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace triax {
namespace {

VectorGroup<1> group_of(float x) {
  return {{FloatVector{} + x}};
}
float exp2_of(float t, float factor = 1.0F) {
  const CoarseExponential<1> e = coarse_exp2(group_of(t), factor);
  return (e.fraction * e.power).part[0][0];
}

TEST(CoarseMath, PowersOfTwo) {
  for (double t = -126.0; t <= 127.0; t += 0.00371) {
    const auto at = static_cast<float>(t);
    ASSERT_NEAR(exp2_of(at) / std::exp2(double{at}), 1.0, 4e-6) << "at " << at;
  }
  EXPECT_EQ(exp2_of(0.0F), 1.0F);
  EXPECT_EQ(exp2_of(3.0F, -5.0F), -40.0F);
}

TEST(CoarseMath, Reciprocals) {
  double worst = 0.0;
  for (double x = 1.0; x < 0x1p126; x *= 1.00037) {
    const auto at = static_cast<float>(x);
    worst = std::max(worst, std::fabs(coarse_reciprocal(group_of(at)).part[0][0] * double{at} - 1));
  }
  EXPECT_LT(worst, 5.3e-5);
  EXPECT_GT(worst, 4e-5) << "the error that the header states is not that of the polynomial";
}

TEST(CoarseMath, Sigmoids) {
  for (const int n : {1, 17, 64, 200}) {
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size()), rest(y);
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = 0.37F * static_cast<float>(i - 60);
    for_coarse_sigmoids(
        0, n,
        [&](std::int64_t i, auto lanes) {
          const auto v = lanes.stream(x.data() + i);
          return SigmoidArgument{v, v * -std::numbers::log2e_v<float>};
        },
        [&](std::int64_t i, const auto& s, auto lanes) {
          lanes.write(y.data() + i, s.value(), false);
          lanes.write(rest.data() + i, s.rest(s.value()), false);
        });
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i] * (1.0 + std::exp(-double{x[i]})), 1.0, 6e-5) << "at " << x[i];
      // 1 + 2^t is a float: exact to 6e-8 of 1, or of itself if it is larger.
      const double expected = 1.0 / (1.0 + std::exp(double{x[i]}));
      ASSERT_NEAR(rest[i], expected, 6e-5 * expected + 1.3e-7) << "at " << x[i];
    }
  }
}

TEST(CoarseMath, SumsOfPowers) {
  for (const int n : {1, 63, 64, 127, 128, 500, 1000}) {
    std::vector<float> t(static_cast<std::size_t>(n));
    double expected = 0.0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      t[i] = static_cast<float>(i * 7 % 31) * 0.3F - 5.0F;
      expected += std::exp2(double{t[i]});
    }
    const float sum =
        sum_of_powers(n, [&](std::int64_t i, auto lanes) { return lanes.stream(t.data() + i); });
    EXPECT_NEAR(sum / expected, 1.0, 4e-6) << n << " elements";
  }
}

TEST(CoarseMath, StaysWithinLimits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(within(coarse_limit, FloatVector{} + 3.0F)[0], 3.0F);
  EXPECT_EQ(within(coarse_limit, FloatVector{} - 3.0F)[0], -3.0F);
  EXPECT_EQ(within(coarse_limit, FloatVector{} + infinity)[0], coarse_limit);
  EXPECT_EQ(within(coarse_limit, FloatVector{} - infinity)[0], -coarse_limit);
  EXPECT_EQ(at_least(-coarse_limit, group_of(-infinity)).part[0][0], -coarse_limit);
  EXPECT_TRUE(std::isnan(at_least(-coarse_limit, group_of(std::nanf(""))).part[0][0]));
}

}  // namespace
}  // namespace triax

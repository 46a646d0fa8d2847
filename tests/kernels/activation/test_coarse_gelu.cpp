// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/coarse_gelu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/gelu.hpp"

namespace triax {
namespace {

struct Gelus {
  std::vector<float> value, slope;
};

Gelus gelus_of(const std::vector<float>& x) {
  Gelus of{std::vector<float>(x.size()), std::vector<float>(x.size())};
  for_coarse_gelus(
      0, static_cast<std::int64_t>(x.size()),
      [&](std::int64_t i, auto lanes) { return lanes.stream(x.data() + i); },
      [&](std::int64_t i, const auto& gelu, auto lanes) {
        lanes.write(of.value.data() + i, gelu.value, false);
        lanes.write(of.slope.data() + i, gelu.slope, false);
      });
  return of;
}

// Largest errors: of the value, of the value relative to |GELU(-|x|)|, and of the slope.
struct Errors {
  double value = 0.0, shortfall = 0.0, slope = 0.0;
};

Errors errors_between(double from, double to) {
  std::vector<float> x;
  for (double at = from; at <= to; at += 0.000173) x.push_back(static_cast<float>(at));
  const Gelus of = gelus_of(x);
  Errors worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = reference::gelu(x[i]);
    // For positive x, the result is rounded to x's own precision.
    const double rounding = x[i] > 0.0F ? 6e-8 * double{x[i]} : 0.0;
    const double error = std::fabs(of.value[i] - exact) - rounding;
    worst.value = std::max(worst.value, error);
    worst.shortfall =
        std::max(worst.shortfall, error / std::fabs(reference::gelu(-std::fabs(double{x[i]}))));
    worst.slope = std::max(worst.slope, std::fabs(of.slope[i] - reference::gelu_derivative(x[i])));
  }
  return worst;
}

TEST(CoarseGelu, IsAsCloseAsItsHeaderSays) {
  const Errors negative = errors_between(-4.0, -0.001), positive = errors_between(0.001, 4.0);
  for (const Errors& errors : {negative, positive}) {
    EXPECT_LT(errors.value, 8e-7);
    EXPECT_LT(errors.slope, 4e-5);
  }
  EXPECT_LT(negative.shortfall, 1e-4);
  EXPECT_GT(negative.value, 6e-7) << "the error that the header states is not that of the table";
  EXPECT_GT(negative.slope, 3e-5);
  for (const Errors& errors : {errors_between(-9.0, -4.0), errors_between(4.0, 9.0)}) {
    EXPECT_LT(errors.value, 3e-8);
    EXPECT_LT(errors.slope, 2e-6);
  }
}

TEST(CoarseGelu, Edges) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.0F,     -0.0F,    1e-30F, -1e-30F,   5.3125F,      1e30F,
                                infinity, -5.3125F, -1e30F, -infinity, std::nanf("")};
  const Gelus of = gelus_of(x);
  EXPECT_EQ(of.value[0], 0.0F);
  EXPECT_EQ(of.value[1], 0.0F);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(of.slope[i], 0.5F) << "at " << x[i];
  EXPECT_EQ(of.value[2], 0.5e-30F);
  EXPECT_EQ(of.value[3], -0.5e-30F);
  EXPECT_NEAR(of.value[4], x[4], 1e-6);
  EXPECT_EQ(of.value[5], x[5]);
  EXPECT_EQ(of.value[6], infinity);
  for (std::size_t i = 4; i < 7; ++i) EXPECT_NEAR(of.slope[i], 1.0F, 1e-7) << "at " << x[i];
  for (std::size_t i = 7; i < 10; ++i) {
    EXPECT_NEAR(of.value[i], 0.0F, 1e-9) << "at " << x[i];
    EXPECT_NEAR(of.slope[i], 0.0F, 1e-7) << "at " << x[i];
  }
  EXPECT_TRUE(std::isnan(of.value[10]));
  EXPECT_TRUE(std::isnan(of.slope[10]));
}

}  // namespace
}  // namespace triax

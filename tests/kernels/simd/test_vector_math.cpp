// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/vector_math.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace triax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// Every `step`-th float of both signs. The step is odd, so that all patterns of low bits occur.
template <class Check>
void for_floats(Check check) {
  constexpr std::uint64_t step = 4099;
  for (std::uint64_t bits = 0; bits < (1ULL << 32U); bits += step)
    check(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

void expect_close(float actual, double exact, float x) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(x)) {
    ASSERT_TRUE(std::isnan(actual));
  } else if (std::isinf(rounded)) {
    ASSERT_EQ(actual, rounded) << "at " << x;
  } else if (std::fabs(exact) <
             double{std::numeric_limits<float>::min()}) {  // subnormal: within one step
    ASSERT_NEAR(actual, rounded, std::numeric_limits<float>::denorm_min()) << "at " << x;
  } else {
    ASSERT_NEAR(actual, exact, 2e-7 * std::fabs(exact)) << "at " << x;
  }
}

TEST(VectorMath, ExpOfAllKindsOfFloats) {
  for_floats([](float x) { expect_close(fast_exp(x), std::exp(double{x}), x); });
  EXPECT_EQ(fast_exp(0.0F), 1.0F);
  EXPECT_EQ(fast_exp(infinity), infinity);
  EXPECT_EQ(fast_exp(-infinity), 0.0F);
}

TEST(VectorMath, FlushedExpOfAllThatDoesNotExceedItsBound) {
  constexpr float least = std::numeric_limits<float>::min();
  for_floats([](float x) {
    if (x > 88.75F) return;
    const float actual = fast_exp_flushed(x);
    const double exact = std::exp(double{x});
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(actual));
    else if (exact < double{least})
      ASSERT_TRUE(actual >= 0.0F && actual <= least) << "at " << x;
    else if (x > 88.67F)
      ASSERT_TRUE(std::isinf(actual) || std::fabs(actual - exact) < 4e-7 * exact) << "at " << x;
    else
      ASSERT_NEAR(actual, exact, (2e-7 + 3e-9 * std::fabs(double{x})) * exact) << "at " << x;
  });
  EXPECT_EQ(fast_exp_flushed(0.0F), 1.0F);
  EXPECT_EQ(fast_exp_flushed(-89.0F), 0.0F);
  EXPECT_EQ(fast_exp_flushed(-infinity), 0.0F);
  EXPECT_EQ(fast_exp_flushed(88.75F), infinity);
}

TEST(VectorMath, TanhAndItsSlope) {
  for_floats([](float x) {
    const ValueAndSlope<float> of = tanh_and_slope(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(of.value) && std::isnan(of.slope));
      return;
    }
    const double exact = std::tanh(double{x});
    ASSERT_NEAR(of.value, exact, 3e-7 * std::fabs(exact) + 0x1p-149) << "at " << x;
    const double cosh = std::cosh(double{x}), slope = 1.0 / (cosh * cosh);
    ASSERT_NEAR(of.slope, slope, 6e-7 * slope + 1e-37) << "at " << x;
  });
  EXPECT_EQ(fast_tanh(0.0F), 0.0F);
  EXPECT_EQ(fast_tanh(infinity), 1.0F);
  EXPECT_EQ(fast_tanh(-infinity), -1.0F);
  EXPECT_EQ(tanh_and_slope(infinity).slope, 0.0F);
}

TEST(VectorMath, TailOfTheNormalDistribution) {
  constexpr double least = std::numeric_limits<float>::min();
  for_floats([](float x) {
    const NormalTail<float> of = normal_tail(x);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(of.tail) && std::isnan(of.exponential));
      return;
    }
    const double tail = 0.5 * std::erfc(std::fabs(double{x}) / std::sqrt(2.0));
    const double exponential = std::exp(-0.5 * double{x} * double{x});
    ASSERT_NEAR(of.tail, tail, tail < least ? 0x1p-148 : 5e-7 * tail) << "at " << x;
    ASSERT_NEAR(of.exponential, exponential, exponential < least ? 0x1p-148 : 3e-7 * exponential)
        << "at " << x;
  });
  EXPECT_EQ(normal_tail(infinity).tail, 0.0F);
}

TEST(VectorMath, TanhAndTailOfAVectorHaveTheBitsOfAFloat) {
  const auto expect_same = [](float one, FloatVector all, float x) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(float{all[vector_floats - 1]}),
              std::bit_cast<std::uint32_t>(one))
        << "at " << x;
  };
  for_floats([&](float x) {
    if (std::isnan(x)) return;
    const auto tanh = tanh_and_slope(FloatVector{} + x);
    expect_same(tanh_and_slope(x).value, tanh.value, x);
    expect_same(tanh_and_slope(x).slope, tanh.slope, x);
    const auto normal = normal_tail(FloatVector{} + x);
    expect_same(normal_tail(x).tail, normal.tail, x);
    expect_same(normal_tail(x).exponential, normal.exponential, x);
  });
}

TEST(VectorMath, ExpOfAVectorHasTheBitsOfExpOfAFloat) {
  for_floats([](float x) {
    const FloatVector all = fast_exp(FloatVector{} + x);
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(all[0]));
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(float{all[vector_floats - 1]}),
                std::bit_cast<std::uint32_t>(fast_exp(x)))
          << "at " << x;
    if (!(x <= 88.75F)) return;
    const FloatVector flushed = fast_exp_flushed(FloatVector{} + x);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(float{flushed[vector_floats - 1]}),
              std::bit_cast<std::uint32_t>(fast_exp_flushed(x)))
        << "at " << x;
  });
}

TEST(VectorMath, TanhOfAVectorHasTheBitsOfTanhOfAFloat) {
  for_floats([](float x) {
    const FloatVector all = fast_tanh(FloatVector{} + x);
    if (std::isnan(x))
      ASSERT_TRUE(std::isnan(all[0]));
    else
      ASSERT_EQ(std::bit_cast<std::uint32_t>(float{all[vector_floats - 1]}),
                std::bit_cast<std::uint32_t>(fast_tanh(x)))
          << "at " << x;
  });
}

}  // namespace
}  // namespace triax

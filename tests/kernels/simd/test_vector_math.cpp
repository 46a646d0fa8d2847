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

TEST(VectorMath, TanhOfAllKindsOfFloats) {
  for_floats([](float x) { expect_close(fast_tanh(x), std::tanh(double{x}), x); });
  for (float x = -12.0F; x < 12.0F; x += 0x1p-12F)  // where it bends
    expect_close(fast_tanh(x), std::tanh(double{x}), x);
  EXPECT_EQ(fast_tanh(0.0F), 0.0F);
  EXPECT_EQ(fast_tanh(infinity), 1.0F);
  EXPECT_EQ(fast_tanh(-infinity), -1.0F);
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

#include "io/float_bits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace triax {
namespace {

// By definition of the format, in double, where every half is exact.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31)
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(FloatBits, EveryHalf) {
  for (unsigned i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double expected = half_value(bits);
    const float got = from_f16(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << i;
    } else {
      ASSERT_EQ(static_cast<double>(got), expected) << i;
      ASSERT_EQ(std::signbit(got), std::signbit(expected)) << i;
    }
  }
}

TEST(FloatBits, Bfloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(from_bf16(0x3f80), 1.0f);
  EXPECT_EQ(from_bf16(0xc0a0), -5.0f);
  EXPECT_EQ(from_bf16(0x7f80), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_bf16(0x7fc0)));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace triax {
namespace {

// The formats by definition.
struct Bfloat16Format {
  using Type = Bf16;
  static constexpr int fraction_bits = 7;
  static constexpr int largest_exponent = 0xff;
  static constexpr int bias = 127;
};
struct HalfFormat {
  using Type = F16;
  static constexpr int fraction_bits = 10;
  static constexpr int largest_exponent = 0x1f;
  static constexpr int bias = 15;
};

template <class Format>
class Float16 : public testing::Test {
 protected:
  using T = typename Format::Type;
  static constexpr std::uint16_t infinity = Format::largest_exponent << Format::fraction_bits;
  static constexpr std::uint16_t sign = 0x8000;

  // Magnitude of a pattern without sign, exact in double. Infinity's pattern counts as the next
  // number.
  static double magnitude(unsigned bits) {
    const int exponent = static_cast<int>(bits >> Format::fraction_bits);
    const int hidden = exponent > 0 ? 1 << Format::fraction_bits : 0;
    const int fraction = static_cast<int>(bits) & ((1 << Format::fraction_bits) - 1);
    return std::ldexp(hidden + fraction,
                      std::max(exponent, 1) - Format::bias - Format::fraction_bits);
  }
  static std::uint16_t rounded(double value) { return T(static_cast<float>(value)).bits; }
};

using Formats = testing::Types<Bfloat16Format, HalfFormat>;
TYPED_TEST_SUITE(Float16, Formats);

TYPED_TEST(Float16, EveryPatternBecomesItsValueAndComesBack) {
  using T = typename TestFixture::T;
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const float value = T::from_bits(static_cast<std::uint16_t>(bits));
    const unsigned unsigned_bits = bits & 0x7fffU;
    if (unsigned_bits > this->infinity) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(float{T(value)})) << bits;
      continue;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000U) << bits;
    if (unsigned_bits == this->infinity)
      ASSERT_TRUE(std::isinf(value)) << bits;
    else
      ASSERT_EQ(std::fabs(double{value}), this->magnitude(unsigned_bits)) << bits;
    ASSERT_EQ(T(value).bits, bits);
  }
}

// Between all neighbours: the middle rounds to the even one, values beside it to the nearer one.
TYPED_TEST(Float16, RoundsToNearestTiesToEven) {
  for (std::uint16_t bits = 0; bits < this->infinity; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1);
    const double middle = (this->magnitude(bits) + this->magnitude(next)) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(double{tie}, middle) << bits;
    const float below = std::nextafter(tie, 0.0F);
    const float above = std::nextafter(tie, std::numeric_limits<float>::infinity());
    const std::uint16_t even = bits % 2 == 0 ? bits : next;
    ASSERT_EQ(this->rounded(below), bits) << bits;
    ASSERT_EQ(this->rounded(tie), even) << bits;
    ASSERT_EQ(this->rounded(above), next) << bits;
    ASSERT_EQ(this->rounded(-below), bits | this->sign) << bits;
    ASSERT_EQ(this->rounded(-tie), even | this->sign) << bits;
    ASSERT_EQ(this->rounded(-above), next | this->sign) << bits;
  }
}

TYPED_TEST(Float16, OverflowsToInfinity) {
  using T = typename TestFixture::T;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {std::numeric_limits<float>::max(), infinity}) {
    EXPECT_EQ(T(value).bits, this->infinity);
    EXPECT_EQ(T(-value).bits, this->infinity | this->sign);
  }
}

TYPED_TEST(Float16, EveryKindOfNotANumberStaysOne) {
  using T = typename TestFixture::T;
  constexpr std::uint32_t float_infinity = 0x7f800000;
  for (std::uint32_t payload = 1; payload < 0x800000U; payload += payload < 0x20000U ? 1 : 4099) {
    ASSERT_TRUE(std::isnan(float{T(std::bit_cast<float>(float_infinity | payload))})) << payload;
    ASSERT_TRUE(std::isnan(float{T(std::bit_cast<float>(0xff800000U | payload))})) << payload;
  }
  EXPECT_TRUE(std::isnan(float{T(std::bit_cast<float>(0x7fffffffU))}));
}

TYPED_TEST(Float16, BelowHalfTheSmallestIsZeroOfTheSameSign) {
  using T = typename TestFixture::T;
  EXPECT_EQ(T(0.0F).bits, 0);
  EXPECT_EQ(T(-0.0F).bits, this->sign);
  EXPECT_EQ(T(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(T(-std::numeric_limits<float>::denorm_min()).bits, this->sign);
}

}  // namespace
}  // namespace triax

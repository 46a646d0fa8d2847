// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/float8.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/splitmix.hpp"
#include "kernels/reference/fp8.hpp"

namespace triax {
namespace {

class Float8Test : public testing::TestWithParam<Float8> {
 protected:
  Float8 name = GetParam();
  Float8Format format = format_of(name);

  // encode() and round_to() both give the nearest number.
  void expect_nearest(float value) const {
    const unsigned expected = reference::fp8_code(name, static_cast<double>(value));
    ASSERT_EQ(encode(format, value), expected) << value;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(round_to(format, value)));
    } else {
      const float rounded = round_to(format, value);
      ASSERT_EQ(static_cast<double>(rounded), reference::fp8_number(name, expected)) << value;
      ASSERT_EQ(std::signbit(rounded), std::signbit(value)) << value;
    }
  }
};

TEST_P(Float8Test, EveryCodeHasItsNumber) {
  for (unsigned code = 0; code < 256; ++code) {
    const float number = decode(name, static_cast<std::uint8_t>(code));
    const double expected = reference::fp8_number(name, code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(number)) << code;
      continue;
    }
    EXPECT_EQ(static_cast<double>(number), expected) << code;
    EXPECT_EQ(std::signbit(number), code >= 128) << code;
    if (std::isfinite(number)) {
      EXPECT_EQ(encode(format, number), code);
      EXPECT_EQ(round_to(format, number), number);
    }
  }
}

TEST_P(Float8Test, RoundsToNearestEven) {
  for (unsigned code = 0; code < 0x7f; ++code) {
    const auto low = static_cast<float>(reference::fp8_number(name, code));
    const auto high = static_cast<float>(reference::fp8_number(name, code + 1));
    if (!std::isfinite(high)) break;
    const float middle = (low + high) / 2.0F;
    for (const float sign : {1.0F, -1.0F})
      for (const float value : {low, std::nextafter(low, high), std::nextafter(middle, low), middle,
                                std::nextafter(middle, high), std::nextafter(high, low)})
        expect_nearest(sign * value);
  }
}

TEST_P(Float8Test, TheLargestTakesAllAbove) {
  const float largest = format.largest();
  EXPECT_EQ(largest, name == Float8::e4m3 ? 448.0F : 57344.0F);
  for (const float value : {largest, std::nextafter(largest, 1e9F), largest * 1.1F, 1e9F, 3.4e38F,
                            std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(round_to(format, value), largest);
    EXPECT_EQ(round_to(format, -value), -largest);
    EXPECT_EQ(static_cast<float>(decode(name, encode(format, -value))), -largest);
  }
}

TEST_P(Float8Test, AnyFloat) {
  for (std::uint64_t i = 0; i < 20000; ++i)
    expect_nearest(std::bit_cast<float>(static_cast<std::uint32_t>(splitmix64(i))));
}

TEST_P(Float8Test, EveryBfloat16) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    expect_nearest(std::bit_cast<float>(bits << 16U));
}

TEST_P(Float8Test, ScalesToTheUpperEnd) {
  for (const float largest : {1e-45F, 1e-38F, 1e-20F, 0.37F, 1.0F, 1.75F, 1.7500001F, 448.0F,
                              449.0F, 57344.0F, 1e30F, 3.4e38F}) {
    const float scale = scale_for(format, std::bit_cast<std::uint32_t>(largest));
    if (largest > 1e-22F) {
      EXPECT_EQ(static_cast<double>(scale), reference::fp8_scale(name, {largest})) << largest;
    }
    EXPECT_EQ(scale * (1.0F / scale), 1.0F);
    EXPECT_LE(largest * scale, format.largest());
  }
  EXPECT_EQ(scale_for(format, 0), 1.0F);
  EXPECT_TRUE(std::isnan(scale_for(format, 0x7f800000U)));
  EXPECT_TRUE(std::isnan(scale_for(format, 0x7fc00000U)));
}

INSTANTIATE_TEST_SUITE_P(Formats, Float8Test, testing::Values(Float8::e4m3, Float8::e5m2));

}  // namespace
}  // namespace triax

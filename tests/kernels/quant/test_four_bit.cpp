// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/four_bit.hpp"

#include <gtest/gtest.h>

#include "tests/kernels/quant/frozen.hpp"

namespace triax {
namespace {

using test::elements;
using test::view;

struct Packed {
  std::vector<std::uint8_t> codes;
  std::vector<float> scales;
};

Packed packed(std::vector<float> values, FourBit type, std::int64_t group) {
  const std::int64_t n = std::ssize(values);
  Packed made{std::vector<std::uint8_t>(static_cast<std::size_t>(four_bit_bytes(n))),
              std::vector<float>(static_cast<std::size_t>(groups_of(n, group)))};
  quantize_4bit(Stream{}, view(made.codes), view(made.scales), view(values), type, group);
  return made;
}

std::vector<float> unpacked(Packed from, std::int64_t first, std::int64_t n, FourBit type,
                            std::int64_t group) {
  std::vector<float> values(static_cast<std::size_t>(n));
  dequantize_4bit(Stream{}, view(values), view(from.codes), view(from.scales), first, type, group);
  return values;
}

FourBit type_of(const nlohmann::json& one) {
  return one["type"] == "nf4" ? FourBit::nf4 : FourBit::fp4;
}

// A group of zeros, a short last group, an odd last element: bytes and scales to the bit.
TEST(FourBit, HasTheBytesOfBitsandbytes) {
  ASSERT_EQ(test::frozen()["four_bit"].size(), 8U);
  for (const auto& one : test::frozen()["four_bit"]) {
    const std::int64_t n = one["n"], group = one["group"];
    std::vector<float> values = test::made_values(n, 1);
    std::fill(values.begin() + group, values.begin() + std::min(n, 2 * group), 0.0F);
    const Packed made = packed(values, type_of(one), group);
    EXPECT_EQ(made.codes, elements<std::uint8_t>(one["codes"])) << one["type"] << n;
    EXPECT_EQ(made.scales, elements<float>(one["scales"])) << one["type"] << n;
  }
}

TEST(FourBit, DecodesToTheBitsOfBitsandbytes) {
  int compared = 0;
  for (const auto& one : test::frozen()["four_bit"]) {
    const auto expected = elements<float>(one["decoded"]);
    if (expected.empty()) continue;
    ++compared;
    const Packed stored{elements<std::uint8_t>(one["codes"]), elements<float>(one["scales"])};
    EXPECT_EQ(unpacked(stored, 0, one["n"], type_of(one), one["group"]), expected);
  }
  EXPECT_EQ(compared, 4);
}

// From any element to any other, odd ones too.
TEST(FourBit, DecodesRanges) {
  const Packed made = packed(test::made_values(300, 5), FourBit::nf4, 64);
  const std::vector<float> whole = unpacked(made, 0, 300, FourBit::nf4, 64);
  for (const std::int64_t first : {0, 1, 63, 64, 65, 190})
    for (const std::int64_t n : {0, 1, 2, 64, 101, 110}) {
      const std::vector<float> part = unpacked(made, first, n, FourBit::nf4, 64);
      EXPECT_EQ(part, std::vector<float>(whole.begin() + first, whole.begin() + first + n))
          << first << " " << n;
    }
}

// The nearest level, whatever the size of the numbers; numbers that are levels come back.
TEST(FourBit, TakesTheNearestLevel) {
  for (const FourBit type : {FourBit::nf4, FourBit::fp4}) {
    const auto& levels = four_bit_table(type).levels;
    std::vector<float> values = test::made_values(640, 9);
    for (float& x : values) x *= 1e-6F;
    const Packed made = packed(values, type, 64);
    const std::vector<float> found = unpacked(made, 0, 640, type, 64);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = made.scales[i / 64];
      float least = INFINITY;
      for (const float level : levels) least = std::min(least, std::abs(level * scale - values[i]));
      EXPECT_LE(std::abs(found[i] - values[i]), least * (1.0F + 1e-5F)) << i;
    }
    EXPECT_EQ(unpacked(packed(found, type, 64), 0, 640, type, 64), found);
  }
}

}  // namespace
}  // namespace triax

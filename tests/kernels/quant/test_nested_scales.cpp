// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/nested_scales.hpp"

#include <gtest/gtest.h>

#include "kernels/quant/four_bit.hpp"
#include "tests/kernels/quant/frozen.hpp"

namespace triax {
namespace {

using test::elements;
using test::view;

TEST(NestedScales, AreThoseOfBitsandbytes) {
  for (const auto& one : test::frozen()["nested"]) {
    const std::int64_t n = one["n"];
    std::vector<float> scales = test::made_values(n, 2);
    for (float& scale : scales) scale = std::abs(scale) + 0.01F;
    std::vector<std::uint8_t> codes(scales.size());
    std::vector<float> outer(static_cast<std::size_t>(groups_of(n, nested_group)));
    const float offset = quantize_scales(Stream{}, view(codes), view(outer), view(scales));
    EXPECT_EQ(offset, one["offset"].get<float>());
    EXPECT_EQ(codes, elements<std::uint8_t>(one["codes"]));
    EXPECT_EQ(outer, elements<float>(one["outer"]));
    std::vector<float> decoded(scales.size());
    dequantize_scales(Stream{}, view(decoded), view(codes), view(outer), 0, offset);
    EXPECT_EQ(decoded, elements<float>(one["decoded"]));
    std::vector<float> part(37);
    std::vector<std::uint8_t> some(codes.begin() + 219, codes.begin() + 256);
    dequantize_scales(Stream{}, view(part), view(some), view(outer), 219, offset);
    EXPECT_EQ(part, std::vector<float>(decoded.begin() + 219, decoded.begin() + 256));
  }
}

// Equal scales differ from their mean by nothing: they come back.
TEST(NestedScales, EqualOnesComeBack) {
  std::vector<float> scales(70, 0.375F), outer(1), decoded(70);
  std::vector<std::uint8_t> codes(70);
  const float offset = quantize_scales(Stream{}, view(codes), view(outer), view(scales));
  dequantize_scales(Stream{}, view(decoded), view(codes), view(outer), 0, offset);
  EXPECT_EQ(decoded, scales);
}

}  // namespace
}  // namespace triax

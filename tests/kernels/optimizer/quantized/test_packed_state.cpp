// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/quantized/packed_state.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

Tensor view(std::vector<float>& values) {
  return {values.data(), {static_cast<std::int64_t>(values.size())}};
}
Tensor view(std::vector<std::uint8_t>& bytes) {
  return {static_cast<void*>(bytes.data()), DType::u8, {static_cast<std::int64_t>(bytes.size())}};
}

std::vector<std::uint8_t> packed(std::vector<float> values, CodeMap map) {
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(packed_bytes(static_cast<std::int64_t>(values.size()))));
  pack_state(view(bytes), view(values), map);
  return bytes;
}
std::vector<float> unpacked(std::vector<std::uint8_t> bytes, std::int64_t first, std::int64_t n,
                            CodeMap map) {
  std::vector<float> values(static_cast<std::size_t>(n));
  test::run(unpack_state, view(values), view(bytes), first, map);
  return values;
}

// Numbers of many sizes, as moments have.
std::vector<float> values_of(CodeMap map, std::int64_t n, unsigned seed) {
  std::vector<float> values = test::random_values(n, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], -static_cast<int>(i * 7 % 25));
    if (map == CodeMap::positive) values[i] *= values[i];
  }
  return values;
}

class PackedState : public testing::TestWithParam<CodeMap> {};

TEST_P(PackedState, TakesTheNearestLevel) {
  const CodeMap map = GetParam();
  const auto& levels = dynamic_map(map).levels;
  constexpr float scale = 64.0F;  // more than the others
  EXPECT_TRUE(std::ranges::is_sorted(levels));
  EXPECT_EQ(levels[static_cast<std::size_t>(zero_code(map))], 0.0F);
  EXPECT_EQ(levels.back(), 1.0F);
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<float> values = values_of(map, cell_elements, seed);
    values.front() = scale;
    const std::vector<float> found = unpacked(packed(values, map), 0, cell_elements, map);
    for (std::size_t i = 0; i < values.size(); ++i) {
      float least = std::numeric_limits<float>::infinity();
      for (const float level : levels) least = std::min(least, std::abs(scale * level - values[i]));
      EXPECT_LE(std::abs(found[i] - values[i]), least * (1.0F + 1e-6F)) << values[i];
    }
  }
}

// Unpacked numbers pack to the same numbers: also where the largest of a cell is negative, which
// no level meets.
TEST_P(PackedState, RestoresWhatWasUnpacked) {
  const CodeMap map = GetParam();
  constexpr std::int64_t n = 256 * 400 + 77;
  const std::vector<float> once = unpacked(packed(values_of(map, n, 3), map), 0, n, map);
  EXPECT_EQ(unpacked(packed(once, map), 0, n, map), once);
  int negative = 0;
  for (std::int64_t cell = 0; cell + cell_elements <= n; cell += cell_elements) {
    const auto [low, high] =
        std::minmax_element(once.begin() + cell, once.begin() + cell + cell_elements);
    negative += -*low > *high ? 1 : 0;
  }
  EXPECT_EQ(negative > 100, map == CodeMap::signs);
}

TEST_P(PackedState, UnpacksAnyRange) {
  const CodeMap map = GetParam();
  constexpr std::int64_t n = 1000;
  const std::vector<std::uint8_t> bytes = packed(values_of(map, n, 5), map);
  const std::vector<float> all = unpacked(bytes, 0, n, map);
  for (const auto& [first, count] : {std::pair{0, 1}, {255, 2}, {17, 700}, {256, 256}, {999, 1}})
    EXPECT_EQ(unpacked(bytes, first, count, map),
              std::vector<float>(all.begin() + first, all.begin() + first + count));
  EXPECT_THROW(unpacked(bytes, 1000, 25, map), Error);
}

TEST_P(PackedState, HoldsZerosAndTheSmallestNumbers) {
  const CodeMap map = GetParam();
  const std::vector<float> zeros(300);
  EXPECT_EQ(unpacked(std::vector<std::uint8_t>(packed_bytes(300)), 0, 300, map), zeros);
  EXPECT_EQ(unpacked(packed(zeros, map), 0, 300, map), zeros);
  std::vector<float> tiny(300, 1e-42F);
  EXPECT_EQ(unpacked(packed(tiny, map), 0, 300, map), tiny);
}

INSTANTIATE_TEST_SUITE_P(Maps, PackedState, testing::Values(CodeMap::signs, CodeMap::positive),
                         [](const auto& info) {
                           return info.param == CodeMap::signs ? "Signs" : "Positive";
                         });

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/philox_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace triax {
namespace {

TEST(PhiloxVectors, WhereAtLeast) {
  std::uint16_t numbers[vector_floats + 1];
  FloatVector v;
  for (int lane = 0; lane < vector_floats; ++lane) v[lane] = -1.0F - static_cast<float>(lane);
  for (const unsigned least : {0U, 1U, 0x7fffU, 0x8000U, 0xffffU}) {
    for (unsigned i = 0; i <= vector_floats; ++i)  // numbers around `least` and around the largest
      numbers[i] = static_cast<std::uint16_t>(i % 2 == 0 ? least + i / 2 - 2 : i - 4);
    const FloatVector found = where_at_least(numbers + 1, static_cast<std::uint16_t>(least), v);
    for (int lane = 0; lane < vector_floats; ++lane) {
      EXPECT_EQ(found[lane], numbers[lane + 1] >= least ? v[lane] : 0.0F) << least << ' ' << lane;
      EXPECT_EQ(std::signbit(found[lane]), numbers[lane + 1] >= least) << "no negative zero";
    }
  }
}

// Words and half words of complete and incomplete groups of counter blocks are those of philox.hpp.
template <int chains>
void expect_stream(std::int64_t first, std::int64_t count) {
  constexpr std::uint64_t key = 0x123456789abcdef0;
  std::int64_t words = 0, halves = 0;
  for_random_words<chains>(count, key, first, [&](std::int64_t done, const auto* at, auto n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<std::uint64_t>(first + done + i);
      const PhiloxBlock made = philox_block(key, index / 4);
      const std::uint32_t expected[] = {made.w0, made.w1, made.w2, made.w3};
      ASSERT_EQ(at[i], expected[index % 4]) << index;
    }
    EXPECT_EQ(done, words);
    words += n;
  });
  for_random_halves<chains>(count, key, first, [&](std::int64_t done, const auto* at, auto n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto index = static_cast<std::uint64_t>(first + done + i);
      const PhiloxBlock made = philox_block(key, index / 8);
      const std::uint32_t of[] = {made.w0, made.w1, made.w2, made.w3};
      const auto half = static_cast<std::uint16_t>(of[index % 8 / 2] >> index % 2 * 16);
      const FloatVector one = FloatVector{} + 1.0F;
      ASSERT_EQ(where_at_least(at + i, half, one)[0], 1.0F) << index;
      if (half == 0xffff) continue;
      ASSERT_EQ(where_at_least(at + i, static_cast<std::uint16_t>(half + 1), one)[0], 0.0F);
    }
    EXPECT_EQ(done, halves);
    halves += n;
  });
  EXPECT_EQ(words, count);
  EXPECT_EQ(halves, count);
}

TEST(PhiloxVectors, AnyRangeIsPartOfTheStream) {
  for (const std::int64_t first : {0L, 1L, 6L, 7L, 63L, 4L * 0xffffffff - 5, (1L << 40) + 3})
    for (const std::int64_t count : {0L, 1L, 3L, 64L, 65L, 1000L}) {
      expect_stream<1>(first, count);
      expect_stream<2>(first, count);
      expect_stream<4>(first, count);
    }
}

}  // namespace
}  // namespace triax

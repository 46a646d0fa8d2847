// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/simd.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/simd/simd_double.hpp"

namespace triax {
namespace {

TEST(Simd, LargestLane) {
  for (int lane = 0; lane < vector_floats; ++lane) {
    FloatVector v = FloatVector{} - 3.0F;
    v[lane] = -2.0F;
    EXPECT_EQ(largest_lane(v), -2.0F);
  }
}

TEST(Simd, LookupTakesTheLowestBits) {
  FloatVector table;
  WordVector at;
  for (int lane = 0; lane < vector_floats; ++lane) {
    table[lane] = static_cast<float>(lane);
    at[lane] = static_cast<std::uint32_t>(5 * lane + 1) | 0xffffff00U;
  }
  const FloatVector found = lookup(table, at);
  for (int lane = 0; lane < vector_floats; ++lane)
    EXPECT_EQ(found[lane], static_cast<float>((5 * lane + 1) % vector_floats));
}

TEST(Simd, LookupOfSixteen) {
  float values[16];
  for (int i = 0; i < 16; ++i) values[i] = static_cast<float>(i) + 0.5F;
  const TableOf16 table = table_of_16(values);
  for (std::uint32_t i = 0; i < 32; ++i) {
    WordVector at = WordVector{} + 0xffffff00U;
    at[i % vector_floats] = 0xabcdef00U + i;
    const FloatVector found = lookup(table, at);
    EXPECT_EQ(found[i % vector_floats], values[i % 16]) << i;
    EXPECT_EQ(found[(i + 1) % vector_floats], values[0]) << i;
  }
}

template <class T>
void expect_stored_past_caches() {
  FloatVector v;
  for (int lane = 0; lane < vector_floats; ++lane) v[lane] = 0.37F * static_cast<float>(lane - 3);
  alignas(64) T past[2 * vector_floats] = {};
  T plain[vector_floats];
  store_past_caches(past + vector_floats, v);
  store(plain, v);
  for (int lane = 0; lane < vector_floats; ++lane) {
    EXPECT_EQ(float{past[vector_floats + lane]}, float{plain[lane]}) << lane;
    EXPECT_EQ(float{past[lane]}, 0.0F) << lane;
  }
}
TEST(Simd, StoresPastCaches) {
  expect_stored_past_caches<float>();
  expect_stored_past_caches<Bf16>();
  expect_stored_past_caches<F16>();
}

TEST(Simd, Transpose) {
  FloatVector rows[vector_floats];
  for (int r = 0; r < vector_floats; ++r)
    for (int c = 0; c < vector_floats; ++c) rows[r][c] = static_cast<float>(r * vector_floats + c);
  transpose(rows);
  for (int r = 0; r < vector_floats; ++r)
    for (int c = 0; c < vector_floats; ++c)
      EXPECT_EQ(rows[r][c], static_cast<float>(c * vector_floats + r));
}

// Vectors convert to and from 16 bits as the scalar conversions do.
template <class T>
class SimdConversion : public testing::Test {};
using SixteenBits = testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(SimdConversion, SixteenBits);

TYPED_TEST(SimdConversion, WidensEveryPattern) {
  for (unsigned first = 0; first < 0x10000U; first += vector_floats) {
    TypeParam narrow[vector_floats];
    for (unsigned lane = 0; lane < vector_floats; ++lane)
      narrow[lane] = TypeParam::from_bits(static_cast<std::uint16_t>(first + lane));
    const FloatVector wide = load(narrow);
    for (int lane = 0; lane < vector_floats; ++lane) {
      const float expected = narrow[lane];
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(wide[lane])) << narrow[lane].bits;
      else
        ASSERT_EQ(std::bit_cast<std::uint32_t>(float{wide[lane]}),
                  std::bit_cast<std::uint32_t>(expected))
            << narrow[lane].bits;
    }
  }
}

TYPED_TEST(SimdConversion, RoundsAllKindsOfFloats) {
  constexpr std::uint64_t step = 1021;  // odd, so that all patterns of low bits occur
  for (std::uint64_t first = 0; first < (1ULL << 32U); first += step * vector_floats) {
    FloatVector wide;
    for (unsigned lane = 0; lane < vector_floats; ++lane)
      wide[lane] = std::bit_cast<float>(static_cast<std::uint32_t>(first + lane * step));
    TypeParam narrow[vector_floats];
    store(narrow, wide);
    for (int lane = 0; lane < vector_floats; ++lane) {
      const bool may_vanish =
          std::is_same_v<TypeParam, Bf16> && std::fpclassify(float{wide[lane]}) == FP_SUBNORMAL;
      if (std::isnan(wide[lane]))
        ASSERT_TRUE(std::isnan(float{narrow[lane]}));
      else if (may_vanish && (narrow[lane].bits & 0x7fffU) == 0)
        ASSERT_EQ(std::signbit(float{narrow[lane]}), std::signbit(wide[lane]));
      else
        ASSERT_EQ(narrow[lane].bits, TypeParam(wide[lane]).bits) << wide[lane];
    }
  }
}

TEST(Simd, HalvesInDouble) {
  FloatVector v;
  for (int lane = 0; lane < vector_floats; ++lane) v[lane] = 0.1F * static_cast<float>(lane);
  for (int lane = 0; lane < vector_floats / 2; ++lane) {
    EXPECT_EQ(lower_half(v)[lane], double{v[lane]});
    EXPECT_EQ(upper_half(v)[lane], double{v[lane + vector_floats / 2]});
  }
}

TEST(Simd, LargerAndSmallerTakeTheSecondWhereOneIsNotANumber) {
  const FloatVector one = FloatVector{} + 1.0F;
  const FloatVector none = FloatVector{} + std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(larger(one, one + 1.0F)[0], 2.0F);
  EXPECT_EQ(smaller(one, one + 1.0F)[0], 1.0F);
  EXPECT_EQ(larger(none, one)[0], 1.0F);
  EXPECT_EQ(smaller(none, one)[0], 1.0F);
  EXPECT_TRUE(std::isnan(larger(one, none)[0]));
  EXPECT_TRUE(std::isnan(smaller(one, none)[0]));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/dropout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/random/dropout_mask.hpp"
#include "kernels/reference/dropout.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

std::vector<float> dropped(std::vector<float>& x, const Dropout& options, std::int64_t first) {
  std::vector<float> y(x.size());
  const Shape shape = {static_cast<std::int64_t>(x.size())};
  test::run(dropout, Tensor(y.data(), shape), Tensor(x.data(), shape), options, first);
  return y;
}

class DropoutTypes : public testing::TestWithParam<DType> {};

TEST_P(DropoutTypes, AgreesWithReference) {
  for (const float probability : {0.1F, 0.5F, 0.9F})
    for (const std::int64_t first : {0L, 3L, 4L, 8L, 1001L, (1L << 40) + 5}) {
      test::Array x = test::Array::random(GetParam(), 5003, 1);
      test::Array y(GetParam(), 5003);
      const Dropout options{probability, 77};
      test::run(dropout, y.tensor(), x.tensor(), options, first);
      test::expect_close(y, reference::dropout(x.doubles(), options, first), 1e-6, "y");
    }
}

TEST_P(DropoutTypes, AgreesWithReferenceFromAnyIndexOn) {
  for (std::int64_t first = 0; first < 17; ++first)
    for (const std::int64_t count : {1, 2, 7, 16, 33, 255, 256, 257}) {
      test::Array x = test::Array::random(GetParam(), count, 1);
      test::Array y(GetParam(), count);
      test::run(dropout, y.tensor(), x.tensor(), {0.4F, 3}, first);
      test::expect_close(y, reference::dropout(x.doubles(), {0.4F, 3}, first), 1e-6, "y");
    }
}

// Dropped elements become +0, whatever they were.
TEST_P(DropoutTypes, WhatIsDroppedIsZero) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  for (const float value : {-1.0F, infinite, std::numeric_limits<float>::quiet_NaN()}) {
    test::Array x(GetParam(), 1001, value), y(GetParam(), 1001);
    test::run(dropout, y.tensor(), x.tensor(), {0.5F, 4}, 1);
    const std::vector<float> values = y.floats();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (reference::dropout_factor({0.5F, 4}, static_cast<std::int64_t>(i) + 1) == 0.0)
        ASSERT_TRUE(values[i] == 0.0F && !std::signbit(values[i])) << value << " at " << i;
      else
        ASSERT_FALSE(values[i] == 0.0F) << value << " at " << i;
  }
}

TEST_P(DropoutTypes, ZeroProbabilityIsTheIdentity) {
  test::Array x = test::Array::random(GetParam(), 3000, 1);
  test::Array y(GetParam(), 3000);
  test::run(dropout, y.tensor(), x.tensor(), {}, 5);
  EXPECT_EQ(y, x);
}

INSTANTIATE_TEST_SUITE_P(Types, DropoutTypes, test::every_type());

// The stream's first words, lower halves before upper ones.
TEST(DropoutMask, HalvesInOrder) {
  const std::array<std::uint32_t, 4> words = philox(5, 0);
  std::vector<float> x(8, 1.0F);
  for (std::uint64_t i = 0; i < x.size(); ++i) {
    const std::uint32_t half = words[i / 2] / (i % 2 == 0 ? 1U : 65536U) % 65536U;
    EXPECT_EQ(half_of(words[i / 2], i), half);
    // A half word is kept by the probability equal to it, and dropped by the next larger one.
    ASSERT_TRUE(half > 0 && half < 65535) << "these words have none such";
    const float probability = static_cast<float>(half) * 0x1p-16F;
    EXPECT_GT(dropped(x, {probability, 5}, 0)[i], 0.0F) << i;
    EXPECT_EQ(dropped(x, {probability + 0x1p-16F, 5}, 0)[i], 0.0F) << i;
  }
}

TEST(DropoutMask, ProbabilitiesAreRoundedButNotToNoneOrAll) {
  EXPECT_FALSE(dropout_mask(0.0F).drops());
  EXPECT_EQ(dropout_mask(0.0F).factor, 1.0F);
  for (const float tiny :
       {std::numeric_limits<float>::denorm_min(), 1e-6F, 0x1p-16F, 1.49F * 0x1p-16F})
    EXPECT_EQ(dropout_mask(tiny).least, 1) << tiny;
  EXPECT_EQ(dropout_mask(1.5F * 0x1p-16F).least, 2);
  EXPECT_EQ(dropout_mask(0.1F).least, 6554);
  EXPECT_EQ(dropout_mask(0.5F).least, 32768);
  for (const float large : {0.99999F, 0x1.fffffep-1F}) EXPECT_EQ(dropout_mask(large).least, 65535);
  EXPECT_EQ(dropout_mask(0.5F).factor, 2.0F);
  EXPECT_EQ(dropout_mask(1e-6F).factor, 65536.0F / 65535.0F);
  EXPECT_EQ(dropout_mask(0x1.fffffep-1F).factor, 65536.0F);
}

// Share of dropped elements, within five standard deviations of the rounded probability.
TEST(Dropout, DropsTheShareAsked) {
  constexpr std::int64_t n = 1 << 20;
  std::vector<float> x(n, 1.0F);
  for (const float probability : {1e-6F, 0.001F, 0.1F, 0.2F, 0.5F, 0.99F, 0.99999F}) {
    const auto y = dropped(x, {probability, 5}, 0);
    const auto zeros = static_cast<double>(std::count(y.begin(), y.end(), 0.0F));
    const double p = dropout_mask(probability).least / 65536.0;
    EXPECT_NEAR(zeros, n * p, 5.0 * std::sqrt(n * p * (1.0 - p))) << probability;
    EXPECT_TRUE(zeros > 0 && zeros < n) << probability;
    const double factor = dropout_mask(probability).factor;
    EXPECT_NEAR((n - zeros) * factor / n, 1.0, 5.0 * std::sqrt(p / (1.0 - p) / n)) << "the mean";
  }
}

TEST(Dropout, PartsHaveTheMaskOfTheWholeAndInPlaceIsTheSame) {
  std::vector<float> x = test::random_values(6000, 1);
  const Dropout options{0.3F, 9};
  const auto whole = dropped(x, options, 10);
  for (const std::int64_t cut : {1, 2, 6, 777, 4096, 5999}) {
    std::vector<float> first(x.begin(), x.begin() + cut), second(x.begin() + cut, x.end());
    auto parts = dropped(first, options, 10);
    const auto rest = dropped(second, options, 10 + cut);
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole) << "cut at " << cut;
  }
  const Tensor view(x.data(), {6000});
  test::run(dropout, view, view, options, 10);
  EXPECT_EQ(x, whole);
}

TEST(Dropout, KeysGiveDifferentMasks) {
  std::vector<float> x(1000, 1.0F);
  EXPECT_NE(dropped(x, {0.5F, 1}, 0), dropped(x, {0.5F, 2}, 0));
}

TEST(Dropout, RefusesProbabilitiesOutsideTheRange) {
  std::vector<float> x(4);
  EXPECT_THROW(dropped(x, {1.0F, 0}, 0), Error);
  EXPECT_THROW(dropped(x, {-0.1F, 0}, 0), Error);
}

}  // namespace
}  // namespace triax

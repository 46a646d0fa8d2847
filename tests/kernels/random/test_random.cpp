// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/reference/random.hpp"
#include "tests/kernels/array.hpp"
#include "tests/kernels/run.hpp"

namespace triax {
namespace {

using Words = std::array<std::uint32_t, 4>;

// kat_vectors of Random123, "philox4x32 10".
TEST(Philox, PublishedKnownAnswers) {
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, LowWordsFirst) {
  const std::uint64_t key = 0x299f31d0a4093822;
  const std::uint64_t counter = 0x85a308d3243f6a88;
  EXPECT_EQ(philox(key, counter),
            philox4x32({0x243f6a88, 0x85a308d3, 0, 0}, {0xa4093822, 0x299f31d0}));
}

TEST(RandomWords, AnyRangeIsPartOfTheStream) {
  constexpr std::uint64_t key = 0x123456789abcdef0;
  for (const std::int64_t first : {0L, 1L, 6L, 63L, 4L * 0xffffffff - 5, 1L << 40})
    for (const std::int64_t count : {0L, 1L, 3L, 64L, 65L, 300L}) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
      random_words(words.data(), count, key, first);
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(words[static_cast<std::size_t>(i)], reference::random_word(key, first + i))
            << "word " << i << " from " << first;
    }
}

TEST(MixKey, EveryPartCounts) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t number = 0; number < 50; ++number) keys.insert(mix_key(seed, number));
    for (const char* name : {"", "a", "b", "ab", "ba", "wte.weight", "wpe.weight"})
      keys.insert(mix_key(seed, std::string_view(name)));
  }
  EXPECT_EQ(keys.size(), 50U * 57U);
  EXPECT_NE(mix_key(mix_key(1, 2), 3), mix_key(mix_key(1, 3), 2));
}

constexpr std::uint64_t key = 42;

std::vector<float> normals(std::int64_t count, std::int64_t first) {
  std::vector<float> out(static_cast<std::size_t>(count));
  test::run(fill_normal, Tensor(out.data(), {count}), key, first, 0.5F, 2.0F);
  return out;
}

TEST(FillNormal, AgreesWithReference) {
  const auto values = normals(10001, 0);
  std::vector<double> expected(values.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = 0.5 + 2.0 * reference::normal(key, static_cast<std::int64_t>(i));
  test::expect_close(values, expected, 1e-6, "normal");
}

TEST(FillNormal, AnySplitGivesTheSameValues) {
  constexpr std::int64_t count = 9001;
  const auto whole = normals(count, 3);
  for (const std::int64_t cut : {1L, 2L, 5L, 1000L, 4096L, 4097L, 9000L}) {
    auto parts = normals(cut, 3);
    const auto rest = normals(count - cut, 3 + cut);
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(parts, whole) << "cut at " << cut;
  }
}

TEST(FillNormal, MeanAndDeviation) {
  constexpr std::int64_t count = 200000;
  const auto values = normals(count, 0);
  double mean = 0.0;
  double variance = 0.0;
  for (const float value : values) mean += value / static_cast<double>(count);
  for (const float value : values)
    variance += (value - mean) * (value - mean) / static_cast<double>(count);
  EXPECT_NEAR(mean, 0.5, 5.0 * 2.0 / std::sqrt(count)) << "five standard errors";
  EXPECT_NEAR(std::sqrt(variance), 2.0, 5.0 * 2.0 / std::sqrt(2.0 * count));
}

class FillTypes : public testing::TestWithParam<DType> {};

TEST_P(FillTypes, NormalNumbersAreThoseOfFloatRounded) {
  constexpr std::int64_t count = 9001;
  test::Array out(GetParam(), count);
  test::run(fill_normal, out.tensor(), key, 3, 0.5F, 2.0F);
  EXPECT_EQ(out, test::Array(GetParam(), normals(count, 3)));
}

TEST_P(FillTypes, ConstantFillsAll) {
  test::Array out(GetParam(), 5001);
  test::run(fill_constant, out.tensor(), 1.5F);
  EXPECT_EQ(out, test::Array(GetParam(), 5001, 1.5F));
}

INSTANTIATE_TEST_SUITE_P(Types, FillTypes, test::every_type());

}  // namespace
}  // namespace triax

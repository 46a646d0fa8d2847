// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/io/plain_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace triax {
namespace {

// However many ranks there are, together they move the whole file, each as much but for a page.
TEST(PlainFile, IsCutOverAllRanksToThePage) {
  constexpr std::int64_t bytes = 1'493'000'001;
  for (const int ranks : {1, 3, 89}) {
    World world;
    world.size = ranks;
    std::int64_t at = 0;
    for (world.rank = 0; world.rank < ranks; ++world.rank) {
      const PlainFile file("no-such-file", world, bytes);
      EXPECT_EQ(file.begin(), at);
      EXPECT_NEAR(static_cast<double>(file.end() - file.begin()),
                  static_cast<double>(bytes) / ranks, 4096.0);
      at = file.end();
    }
    EXPECT_EQ(at, bytes / 4096 * 4096);
  }
}

// Data that compress make disks look faster than they are.
TEST(RandomBits, DoNotRepeat) {
  const Buffer memory(std::size_t{1} << 20);
  benchmark::fill_random_bits(memory);
  const auto* const words = static_cast<const std::uint64_t*>(memory.data());
  const std::size_t count = memory.bytes() / sizeof(std::uint64_t);
  std::int64_t ones = 0;
  for (std::size_t i = 0; i < count; ++i) ones += std::popcount(words[i]);
  EXPECT_NEAR(static_cast<double>(ones) / (64.0 * static_cast<double>(count)), 0.5, 1e-3);
  std::vector<std::uint64_t> sorted(words, words + count);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
}

TEST(RandomFloats, LieBetweenZeroAndOne) {
  const Buffer memory(std::size_t{1} << 16);
  benchmark::fill_random_floats(memory);
  const auto* const values = static_cast<const float*>(memory.data());
  const std::size_t count = memory.bytes() / sizeof(float);
  const auto [least, most] = std::minmax_element(values, values + count);
  EXPECT_GE(*least, 0.0F);
  EXPECT_LT(*least, 0.01F);
  EXPECT_LT(*most, 1.0F);
  EXPECT_GT(*most, 0.99F);
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/permutation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace triax {
namespace {

std::vector<std::uint64_t> all(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(permutation(i));
  return out;
}

TEST(Permutation, IsABijectionForEveryLength) {
  std::vector<std::uint64_t> lengths = {255,  256,  257,  1000,  1023,  1024,
                                        1025, 4095, 4097, 65537, 100003};
  for (std::uint64_t n = 1; n <= 130; ++n) lengths.push_back(n);
  for (const std::uint64_t n : lengths) {
    std::vector<bool> seen(n);
    for (const std::uint64_t to : all(n, 1234, 7)) {
      ASSERT_LT(to, n);
      ASSERT_FALSE(seen[to]) << n;
      seen[to] = true;
    }
  }
}

TEST(Permutation, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(all(1000, 5, 3), all(1000, 5, 3));
  EXPECT_NE(all(1000, 5, 3), all(1000, 5, 4));
  EXPECT_NE(all(1000, 5, 3), all(1000, 6, 3));
  EXPECT_NE(all(1000, 5, 6), all(1000, 6, 5));
}

// Over many epochs each index maps to every value about equally often: chi-squared with about n (n
// - 1) degrees of freedom, within five standard deviations.
TEST(Permutation, IsNearlyUniformOverEpochs) {
  constexpr std::uint64_t n = 37;
  constexpr std::uint64_t epochs = 20000;
  std::vector<double> counts(n * n);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const Permutation permutation(n, 99, epoch);
    for (std::uint64_t i = 0; i < n; ++i) counts[i * n + permutation(i)] += 1;
  }
  constexpr double expected = static_cast<double>(epochs) / n;
  double chi = 0;
  for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
  constexpr double freedom = (n - 1.0) * (n - 1.0);
  // Permutations are not independent draws; the statistic of a uniform one has this mean and
  // variance.
  EXPECT_NEAR(chi, freedom * n / (n - 1.0), 5 * std::sqrt(2 * freedom) * n / (n - 1.0));
}

// Neighbours are separated.
TEST(Permutation, SeparatesNeighbours) {
  const auto order = all(10000, 3, 0);
  int adjacent = 0;
  int fixed = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    adjacent += order[i + 1] == order[i] + 1 ? 1 : 0;
    fixed += order[i] == i ? 1 : 0;
  }
  EXPECT_LT(adjacent, 10);  // expected value: 1
  EXPECT_LT(fixed, 10);
}

TEST(Permutation, HandlesHugeRanges) {
  constexpr std::uint64_t n = (std::uint64_t{1} << 40) + 1;
  const Permutation permutation(n, 1, 1);
  EXPECT_LT(permutation(n - 1), n);
  EXPECT_NE(permutation(0), permutation(1));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
// Which algorithm of a product is kept after trials.
#include "kernels/cuda/matmul/blas_trials.hpp"

#include <gtest/gtest.h>

#include <array>

namespace triax::cuda {
namespace {

constexpr MatrixBits first{.sum = 7, .nonzero = 100};
constexpr MatrixBits other{.sum = 8, .nonzero = 100};

TEST(AlgorithmTrials, TheFastestOfEqualBitsIsKept) {
  const std::array<AlgorithmTrial, 3> trials = {
      {{0, first, 3.0F}, {2, first, 1.0F}, {5, first, 2.0F}}};
  EXPECT_EQ(fastest(trials), 2U);
}

TEST(AlgorithmTrials, AFasterOneOfOtherBitsIsNot) {
  const std::array<AlgorithmTrial, 3> trials = {
      {{0, first, 3.0F}, {1, other, 1.0F}, {4, first, 2.0F}}};
  EXPECT_EQ(fastest(trials), 4U);
}

TEST(AlgorithmTrials, TheFirstStaysUnlessAnotherIsClearlyFaster) {
  const auto of = [](float milliseconds) {
    return std::array<AlgorithmTrial, 2>{{{0, first, 2.0F}, {1, first, milliseconds}}};
  };
  EXPECT_EQ(fastest(of(2.0F)), 0U);
  EXPECT_EQ(fastest(of(1.95F)), 0U);
  EXPECT_EQ(fastest(of(1.93F)), 1U);
}

// Sums of zeros have the same bits in any order.
TEST(AlgorithmTrials, BitsOfAProductOfZerosTellNothing) {
  EXPECT_FALSE(bits_tell({}, 200));
  EXPECT_FALSE(bits_tell(first, 200));
  EXPECT_TRUE(bits_tell(first, 199));
}

}  // namespace
}  // namespace triax::cuda

// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/normal_vectors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/splitmix.hpp"
#include "kernels/random/box_muller.hpp"

namespace triax {
namespace {

// Number of results that are not the same float as box_muller's. All of them must be close.
int differing(const std::vector<std::uint32_t>& words) {
  int count = 0;
  for (std::size_t i = 0; i + vector_floats <= words.size(); i += vector_floats) {
    const FloatVector made = normal_numbers(load_words(words.data() + i));
    for (std::size_t lane = 0; lane < vector_floats; lane += 2) {
      const NormalPair pair = box_muller(words[i + lane], words[i + lane + 1]);
      const double expected[] = {pair.cosine, pair.sine};
      for (std::size_t k = 0; k < 2; ++k) {
        const float found = made[static_cast<int>(lane + k)];
        EXPECT_NEAR(found, expected[k], 6e-8 * std::fabs(expected[k]) + 1e-14)
            << "of words " << words[i + lane] << " and " << words[i + lane + 1];
        if (found != static_cast<float>(expected[k])) ++count;
      }
    }
  }
  return count;
}

TEST(NormalVectors, AreTheFloatsOfBoxMuller) {
  constexpr std::size_t count = 1 << 20;
  std::vector<std::uint32_t> words(count);
  std::uint64_t state = 1;
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(splitmix64(state++) >> 32U);
  EXPECT_LE(differing(words), 2);
}

// The smallest and largest radius, and angles on both sides of every quarter and eighth turn.
TEST(NormalVectors, AtTheEdges) {
  std::vector<std::uint32_t> words;
  for (const std::uint32_t radius :
       {0U, 1U, 2U, 0x7fffffffU, 0x80000000U, 0xb504f332U, 0xb504f334U, 0xfffffffeU, 0xffffffffU})
    for (std::uint32_t eighth = 0; eighth < 8; ++eighth)
      for (const std::uint32_t beside : {0xffffffffU, 0U, 1U}) {
        words.push_back(radius);
        words.push_back((eighth << 29U) + beside);
      }
  words.resize((words.size() + vector_floats - 1) / vector_floats * vector_floats, 7U);
  differing(words);
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/inference/sampling/likelihood.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace triax {
namespace {

TEST(LikelihoodOf, IsTheLogOfTheSoftmax) {
  const std::vector<float> logits = {std::log(1.0F) + 50, std::log(4.0F) + 50, std::log(2.0F) + 50,
                                     std::log(3.0F) + 50};
  const TokenLikelihood found = likelihood_of(logits, 2, 3);
  EXPECT_EQ(found.token, 2);
  EXPECT_NEAR(found.log_probability, std::log(0.2), 1e-5);
  ASSERT_EQ(found.alternatives.size(), 3U);
  EXPECT_EQ(found.alternatives[0].first, 1);
  EXPECT_NEAR(found.alternatives[0].second, std::log(0.4), 1e-5);
  EXPECT_EQ(found.alternatives[1].first, 3);
  EXPECT_EQ(found.alternatives[2].first, 2);
  EXPECT_EQ(found.alternatives[2].second, found.log_probability);
}

TEST(LikelihoodOf, NeedsNoMoreAlternativesThanTokens) {
  const std::vector<float> logits = {0.0F, 0.0F};
  EXPECT_EQ(likelihood_of(logits, 0, 20).alternatives.size(), 2U);
  EXPECT_TRUE(likelihood_of(logits, 0, 0).alternatives.empty());
  EXPECT_EQ(likelihood_of(logits, 0, -1).log_probability, 0.0F);
}

}  // namespace
}  // namespace triax

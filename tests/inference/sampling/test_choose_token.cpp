// SPDX-License-Identifier: Apache-2.0
#include "src/inference/sampling/choose_token.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace triax {
namespace {

const std::vector<float> quarters = {std::log(0.1F), std::log(0.4F), std::log(0.2F),
                                     std::log(0.3F)};

// Expects that a uniform grid of draws gives each token its share.
void expect_shares(const TokenChoice& choice, const std::vector<double>& shares) {
  constexpr int draws = 10000;
  std::vector<double> found(quarters.size());
  for (int i = 0; i < draws; ++i)
    found[static_cast<std::size_t>(draw_token(quarters, choice, (i + 0.5) / draws))] += 1.0 / draws;
  for (std::size_t i = 0; i < shares.size(); ++i)
    EXPECT_NEAR(found[i], shares[i], 2.0 / draws) << "token " << i;
}

TEST(DrawToken, CutsTheDistribution) {
  expect_shares({}, {0.1, 0.4, 0.2, 0.3});
  expect_shares({.temperature = 0.5}, {0.01 / 0.30, 0.16 / 0.30, 0.04 / 0.30, 0.09 / 0.30});
  expect_shares({.top_k = 2}, {0.0, 4.0 / 7, 0.0, 3.0 / 7});
  expect_shares({.top_p = 0.69}, {0.0, 4.0 / 7, 0.0, 3.0 / 7});
  expect_shares({.top_p = 0.71}, {0.0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  expect_shares({.top_p = 0.01}, {0.0, 1.0, 0.0, 0.0});
  expect_shares({.min_p = 0.6}, {0.0, 4.0 / 7, 0.0, 3.0 / 7});
  expect_shares({.top_k = 3, .top_p = 0.7}, {0.0, 4.0 / 7, 0.0, 3.0 / 7});
  expect_shares({.temperature = 0.0}, {0.0, 1.0, 0.0, 0.0});
}

TEST(DrawToken, GreedyTakesTheLargestAndTheLowerOfEquals) {
  const std::vector<float> logits = {1.0F, 4.0F, -2.0F, 4.0F, 3.0F};
  EXPECT_EQ(draw_token(logits, {.temperature = 0.0}, 0.99), 1);
  EXPECT_EQ(draw_token(logits, {.top_k = 1}, 0.99), 1);
}

TEST(DrawToken, EndsOfTheIntervalAreTokens) {
  const std::vector<float> logits = {0.0F, 0.0F, 0.0F};
  EXPECT_EQ(draw_token(logits, {}, 0.0), 0);
  EXPECT_EQ(draw_token(logits, {}, std::nextafter(1.0, 0.0)), 2);
}

// Many tokens: more than are sorted at first.
TEST(DrawToken, TopPOfManyTokens) {
  const std::vector<float> equal(1000, 1.0F);
  std::set<std::int32_t> drawn;
  for (int i = 0; i < 4000; ++i) drawn.insert(draw_token(equal, {.top_p = 0.25}, i / 4000.0));
  EXPECT_EQ(drawn.size(), 250U);
  EXPECT_EQ(*drawn.rbegin(), 249);
}

TEST(ChangeLogits, PenalisesWhatWasThere) {
  std::vector<float> logits = {1.0F, -1.0F, 2.0F, 3.0F, 0.5F};
  TokenChoice choice;
  choice.repetition_penalty = 2.0;
  choice.presence_penalty = 0.25;
  choice.frequency_penalty = 0.5;
  choice.logit_bias = {{4, 10.0F}};
  change_logits(logits, choice, std::vector<std::int32_t>{0, 1},
                std::vector<std::int32_t>{3, 3, 3});
  EXPECT_EQ(logits, (std::vector<float>{0.5F, -2.0F, 2.0F, 1.5F - 1.75F, 10.5F}));
}

TEST(ChangeLogits, BansTokens) {
  std::vector<float> logits = {1.0F, 2.0F, 3.0F, 4.0F};
  change_logits(logits, {.tokens = 3}, {}, {}, std::vector<std::int32_t>{2});
  EXPECT_EQ(draw_token(logits, {.temperature = 0.0}, 0.0), 1);
  for (int i = 0; i < 100; ++i) EXPECT_LT(draw_token(logits, {}, i / 100.0), 2);
}

TEST(TokenUniform, DependsOnSeedAndPosition) {
  std::set<double> found;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::int64_t index = 0; index < 10; ++index) {
      const double uniform = token_uniform(seed, index);
      EXPECT_GE(uniform, 0.0);
      EXPECT_LT(uniform, 1.0);
      EXPECT_EQ(uniform, token_uniform(seed, index));
      found.insert(uniform);
    }
  EXPECT_EQ(found.size(), 100U);
}

struct Penalties {
  double repetition = 1, presence = 0, frequency = 0;
};

TokenChoice choice_of(double temperature, int top_k = 0, double top_p = 1, double min_p = 0,
                      Penalties penalties = {}) {
  TokenChoice choice;
  choice.temperature = temperature;
  choice.top_k = top_k;
  choice.top_p = top_p;
  choice.min_p = min_p;
  choice.repetition_penalty = penalties.repetition;
  choice.presence_penalty = penalties.presence;
  choice.frequency_penalty = penalties.frequency;
  return choice;
}

TokenChoice greedy(const Penalties& penalties = {}) {
  return choice_of(0, 0, 1, 0, penalties);
}

std::int32_t choose(const std::vector<float>& logits, const TokenChoice& choice,
                    const std::vector<std::int32_t>& prompt,
                    const std::vector<std::int32_t>& answer,
                    const std::vector<std::int32_t>& banned) {
  return next_token(logits, choice, prompt, answer, banned);
}

// Shares of the tokens over many seeds.
void expect_shares_of_seeds(TokenChoice choice, const std::vector<double>& shares,
                            const std::vector<std::int32_t>& banned = {}) {
  constexpr int draws = 20000;
  std::vector<double> found(quarters.size());
  for (int i = 0; i < draws; ++i) {
    choice.seed = static_cast<std::uint64_t>(i);
    found[static_cast<std::size_t>(choose(quarters, choice, {}, {}, banned))] += 1.0 / draws;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(found[i], shares[i], 0.015) << i;
}

TEST(NextToken, DrawsFromWhatTheFiltersLeave) {
  expect_shares_of_seeds({}, {0.1, 0.4, 0.2, 0.3});
  expect_shares_of_seeds(choice_of(0.5), {0.01 / 0.30, 0.16 / 0.30, 0.04 / 0.30, 0.09 / 0.30});
  expect_shares_of_seeds(choice_of(1, 2), {0, 4.0 / 7, 0, 3.0 / 7});
  expect_shares_of_seeds(choice_of(1, 0, 0.65), {0, 4.0 / 7, 0, 3.0 / 7});
  expect_shares_of_seeds(choice_of(1, 0, 1, 0.45), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  TokenChoice biased;
  biased.logit_bias = {{0, std::log(4.0F)}};
  expect_shares_of_seeds(biased, {4.0 / 13, 4.0 / 13, 2.0 / 13, 3.0 / 13});
  expect_shares_of_seeds({}, {0.1 / 0.6, 0, 0.2 / 0.6, 0.3 / 0.6}, {1});
}

TEST(NextToken, GreedyAndPenalties) {
  EXPECT_EQ(choose({1, 3, 3}, greedy(), {}, {}, {}), 1);
  EXPECT_EQ(choose({1, 3, 3}, greedy({.repetition = 2}), {1}, {}, {}), 2);
  EXPECT_EQ(choose({1, 3, 3}, greedy({.presence = 1}), {1}, {2}, {}), 1);
  EXPECT_EQ(choose({2, 3, 3}, greedy({.frequency = 1}), {}, {1, 1, 2, 2}, {}), 0);
}

TEST(ChooseToken, TokensOutsideTheMaskAreNeverChosen) {
  const std::vector<float> logits = {5, 4, 3, 2};
  TokenMask mask(4);
  mask.set(2, true);
  mask.set(3, true);
  EXPECT_EQ(next_token(logits, {.temperature = 0}, {}, {}, {}, &mask), 2);
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_GE(next_token(logits, {.seed = seed}, {}, {}, {}, &mask), 2);
}

}  // namespace
}  // namespace triax

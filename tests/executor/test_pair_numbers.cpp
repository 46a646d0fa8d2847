// SPDX-License-Identifier: Apache-2.0
#include "src/executor/pair_numbers.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

Config config_of(const char* loss) {
  Config config;
  config.loss.type = loss;
  config.loss.beta = 0.4;
  config.loss.label_smoothing = 0.1;
  config.loss.simpo_gamma = 0.7;
  return config;
}

PairSums sums_of_two_pairs() {
  PairSums sums{};
  const auto set = [&](PairSum which, double value) {
    sums[static_cast<std::size_t>(which)] = value;
  };
  set(PairSum::loss, 3.0);
  set(PairSum::chosen_loss, 20.0);
  set(PairSum::chosen_labels, 10.0);
  set(PairSum::pairs, 2.0);
  set(PairSum::chosen_reward, 1.0);
  set(PairSum::rejected_reward, -3.0);
  set(PairSum::preferred, 1.0);
  set(PairSum::chosen_log_prob, -8.0);
  set(PairSum::rejected_log_prob, -16.0);
  return sums;
}

TEST(PairNumbers, OptionsAreThoseOfTheLoss) {
  EXPECT_FALSE(pair_options(config_of("next_token"), 2.0, 10.0));
  const PairLossOptions dpo = *pair_options(config_of("dpo"), 2.0, 10.0);
  EXPECT_FALSE(dpo.mean);
  EXPECT_EQ(dpo.slope, 0.4);
  EXPECT_EQ(dpo.margin, 0.0) << "gamma is SimPO's";
  EXPECT_EQ(dpo.smoothing, 0.1);
  EXPECT_EQ(dpo.chosen_weight, 0.0);
  const PairLossOptions simpo = *pair_options(config_of("simpo"), 2.0, 10.0);
  EXPECT_TRUE(simpo.mean);
  EXPECT_EQ(simpo.margin, 0.7);
  const PairLossOptions orpo = *pair_options(config_of("orpo"), 2.0, 10.0);
  EXPECT_TRUE(orpo.odds);
  EXPECT_EQ(orpo.slope, 1.0);
  EXPECT_EQ(orpo.weight, 0.4);
  EXPECT_EQ(orpo.chosen_weight, 0.2) << "the mean over pairs becomes one over tokens";
}

TEST(PairNumbers, AreMeansOverPairs) {
  const PairSums sums = sums_of_two_pairs();
  EXPECT_DOUBLE_EQ(pair_loss_of(config_of("dpo"), sums), 1.5);
  EXPECT_DOUBLE_EQ(pair_loss_of(config_of("orpo"), sums), 1.5 + 2.0);
  const PairMetrics metrics = pair_metrics(config_of("dpo"), sums);
  EXPECT_EQ(metrics.margin(), 2.0);
  EXPECT_EQ(metrics.accuracy, 0.5);
  EXPECT_EQ(metrics.chosen_log_prob, -4.0);
  EXPECT_EQ(metrics.rejected_log_prob, -8.0);
  EXPECT_FALSE(metrics.chosen_loss);
  EXPECT_EQ(pair_metrics(config_of("orpo"), sums).chosen_loss, 2.0);
  EXPECT_EQ(pair_loss_of(config_of("dpo"), {}), 0.0) << "no pair at all";
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/best_loss.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace triax {
namespace {

EndingConfig ending(int patience = 0, double threshold = 0.0) {
  return {.patience = patience, .threshold = threshold};
}

// Number of validations after which the run ends; 0: it does not.
int end_of(EndingConfig config, const std::vector<double>& losses) {
  BestLoss best(config);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    best.count(static_cast<std::int64_t>(i + 1), losses[i]);
    if (best.ends()) return static_cast<int>(i) + 1;
  }
  return 0;
}

TEST(BestLoss, EndsAfterValidationsInARowThatDoNotImprove) {
  EXPECT_EQ(end_of(ending(2), {3.0, 2.0, 2.5, 1.9, 2.0, 1.9, 1.0}), 6);
  EXPECT_EQ(end_of(ending(3), {3.0, 2.0, 2.5, 1.9, 2.0, 1.9}), 0);
  EXPECT_EQ(end_of(ending(1), {3.0, 3.0}), 2) << "an equal loss is no improvement";
  EXPECT_EQ(end_of(ending(), {1.0, 2.0, 3.0, 4.0}), 0) << "no patience: no early end";
}

// As transformers' EarlyStoppingCallback: the lowest loss moves by less than the threshold, too.
TEST(BestLoss, AnImprovementIsMoreThanTheThreshold) {
  EXPECT_EQ(end_of(ending(2, 0.5), {3.0, 2.75, 2.5, 1.0}), 3);
  EXPECT_EQ(end_of(ending(2, 0.25), {3.0, 2.75, 2.25, 2.0, 1.5}), 0);
  BestLoss best(ending(2, 0.5));
  EXPECT_TRUE(best.count(5, 3.0));
  EXPECT_TRUE(best.count(10, 2.75));
  EXPECT_EQ(best.steps(), 10);
  EXPECT_EQ(best.without(), 1);
}

TEST(BestLoss, ALossThatIsNotFiniteIsNoImprovement) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(end_of(ending(2), {nan, nan}), 2);
  BestLoss best(ending(2));
  EXPECT_FALSE(best.count(1, nan));
  EXPECT_FALSE(best);
  EXPECT_TRUE(best.count(2, 4.0));
  EXPECT_FALSE(best.count(3, nan));
  EXPECT_EQ(best.loss(), 4.0);
}

TEST(BestLoss, GoesOnFromItsState) {
  BestLoss best(ending(3));
  for (const double loss : {3.0, 0.1 + 0.2, 2.5, 2.5}) best.count(best.last() + 10, loss);
  BestLoss again(ending(3));
  again.restore(best.state());
  EXPECT_EQ(again.loss(), 0.1 + 0.2) << "the same bits";
  EXPECT_EQ(again.steps(), best.steps());
  EXPECT_EQ(again.last(), best.last());
  EXPECT_FALSE(again.ends());
  again.count(again.last() + 10, 9.0);
  EXPECT_TRUE(again.ends());
  again.restore("");
  EXPECT_FALSE(again) << "a checkpoint without a validation";
  EXPECT_EQ(again.without(), 0);
}

}  // namespace
}  // namespace triax

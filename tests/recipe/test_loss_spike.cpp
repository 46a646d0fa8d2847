// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/loss_spike.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace triax {
namespace {

using enum LossVerdict;

LossSpikes spikes(int window, double factor = 2.0, int rollbacks = 3) {
  return LossSpikes({.factor = factor, .window = window, .max_rollbacks = rollbacks});
}

// Verdicts on the losses of consecutive steps.
std::vector<LossVerdict> verdicts(LossSpikes& spikes, const std::vector<double>& losses,
                                  std::int64_t first = 0) {
  std::vector<LossVerdict> found;
  for (const double loss : losses) found.push_back(spikes.count(first++, loss, true));
  return found;
}

TEST(LossSpikes, AreAboveAFactorTimesTheMedian) {
  LossSpikes losses = spikes(4, 3.0);
  verdicts(losses, {1.0, 2.0, 3.0, 5.0});  // median 2, mean 2.75
  EXPECT_EQ(losses.count(4, 6.0, true), none);
  EXPECT_EQ(losses.median(), 2.0);
  EXPECT_EQ(losses.count(5, 9.1, true), first_spike) << "of 2, 3, 5 and 6 it is 3";
  EXPECT_EQ(losses.median(), 3.0);
  EXPECT_EQ(losses.limit(), 9.0);
}

// Losses of a fine-tuned model are near zero and vary by factors.
TEST(LossSpikes, SmallLossesAreNoSpikes) {
  LossSpikes losses = spikes(3, 3.0);
  EXPECT_THAT(verdicts(losses, {0.01, 0.02, 0.01, 0.2, 0.5}), testing::Each(none));
  EXPECT_FALSE(losses.beyond());
  EXPECT_EQ(losses.count(5, 0.9, true), first_spike) << "more than half a nat above 0.2";
  EXPECT_DOUBLE_EQ(losses.limit(), 0.7);
}

TEST(LossSpikes, AreNoneBeforeAWindowOfLosses) {
  LossSpikes losses = spikes(3);
  EXPECT_THAT(verdicts(losses, {1.0, 9.0, 9.0, 9.0}),
              testing::ElementsAre(none, none, none, first_spike));
  EXPECT_EQ(losses.within(), 0) << "and yet they are beyond the limit";
  EXPECT_TRUE(losses.beyond());
}

TEST(LossSpikes, AValidationProvesWeightsBeforeTheNextLoss) {
  LossSpikes losses = spikes(2);
  verdicts(losses, {1.0, 1.0});
  losses.prove(2);
  EXPECT_EQ(losses.count(2, 7.0, true), first_spike);
  EXPECT_EQ(losses.within(), 2);
  losses.prove(1);
  EXPECT_EQ(losses.within(), 2) << "an older one proves nothing new";
}

// Losses beyond the limit do not enter the median.
TEST(LossSpikes, StayBeyondTheLimitUntilTheLossIsBack) {
  LossSpikes losses = spikes(2);
  verdicts(losses, {1.0, 1.0});
  EXPECT_EQ(losses.count(2, 7.0, true), first_spike);
  for (std::int64_t step = 3; step < 100; ++step) EXPECT_EQ(losses.count(step, 7.0, true), spike);
  EXPECT_EQ(losses.within(), 1);
  EXPECT_EQ(losses.median(), 1.0);
  EXPECT_EQ(losses.count(100, 2.0, true), back);
  EXPECT_EQ(losses.first_spike(), 2);
  EXPECT_EQ(losses.within(), 100);
  EXPECT_FALSE(losses.beyond());
  EXPECT_EQ(losses.count(101, 1.0, true), none);
}

TEST(LossSpikes, ALossThatIsNotFiniteIsBeyondTheLimitAndNoSpike) {
  LossSpikes losses = spikes(2);
  verdicts(losses, {1.0, 1.0});
  for (const double loss : {std::nan(""), HUGE_VAL}) EXPECT_EQ(losses.count(2, loss, false), none);
  EXPECT_TRUE(losses.beyond());
  EXPECT_EQ(losses.within(), 1);
  EXPECT_EQ(losses.count(3, 1.5, true), none);
}

TEST(LossSpikes, StepsThatChangedNothingAreJudgedAndNotCounted) {
  LossSpikes losses = spikes(2);
  EXPECT_EQ(losses.count(0, 1.0, false), none);
  EXPECT_EQ(losses.count(1, 9.0, true), none) << "nothing to hold it against";
  EXPECT_EQ(losses.within(), 1);
  EXPECT_EQ(losses.count(2, 9.0, true), none);
  EXPECT_EQ(losses.count(3, 99.0, false), first_spike);
}

// The state can be saved after any step.
TEST(LossSpikes, GoOnFromAStateAsIfTheyHadNotStopped) {
  std::vector<double> all;
  for (int i = 0; i < 40; ++i) all.push_back(1.0 / 3 + i % 5 + (i % 11 == 7 ? 20.0 : 0.0));
  all[20] = std::nan("");
  LossSpikes whole = spikes(5);
  const std::vector<LossVerdict> expected = verdicts(whole, all);
  EXPECT_GT(std::ranges::count(expected, first_spike), 1);
  for (std::size_t stop = 0; stop < all.size(); ++stop) {
    LossSpikes before = spikes(5), after = spikes(5);
    verdicts(before, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(stop)});
    after.restore(before.state(), static_cast<std::int64_t>(stop));
    EXPECT_EQ(after.within(), before.within()) << stop;
    EXPECT_EQ(after.state(), before.state()) << stop;
    for (std::size_t step = stop; step < all.size(); ++step)
      EXPECT_EQ(is_spike(after.count(static_cast<std::int64_t>(step), all[step], true)),
                is_spike(expected[step]))
          << stop << ' ' << step;
    EXPECT_EQ(after.state(), whole.state()) << stop;
  }
}

TEST(LossSpikes, WithoutAStateAllIsWithinReason) {
  for (const char* state : {"", "{}", "[1]", R"({"window": "1"})"}) {
    LossSpikes losses = spikes(2);
    verdicts(losses, {1.0, 1.0, 5.0});
    losses.restore(state, 7);
    EXPECT_EQ(losses.within(), 6) << state;
    EXPECT_FALSE(losses.beyond()) << state;
    EXPECT_THAT(verdicts(losses, {5.0, 5.0, 11.0}, 7),
                testing::ElementsAre(none, none, first_spike))
        << state;
  }
}

TEST(LossSpikes, AShorterWindowTakesTheLastLosses) {
  LossSpikes longer = spikes(4), shorter = spikes(2);
  verdicts(longer, {1.0, 1.0, 1.8, 1.9});
  shorter.restore(longer.state(), 4);
  EXPECT_EQ(shorter.count(4, 3.7, true), first_spike);
  EXPECT_EQ(shorter.median(), 1.8);
}

// A checkpoint written during bad steps holds the state before them.
TEST(LossSpikes, AFileIsNotSoundByStepsBehindIt) {
  LossSpikes losses = spikes(2), resumed = spikes(2);
  verdicts(losses, {1.0, 1.0, 1.0, 1.0});
  resumed.restore(losses.state(), 2);
  EXPECT_EQ(resumed.within(), 1);
}

TEST(LossSpikes, RollbacksAreCountedUntilTheRunIsAWindowBehindTheLast) {
  LossSpikes losses = spikes(10, 2.0, 2);
  EXPECT_EQ(losses.count_rollback(100), 1);
  EXPECT_EQ(losses.count_rollback(95), 2);
  EXPECT_EQ(losses.count_rollback(110), 0) << "110 is the last step of the place";
  EXPECT_EQ(losses.count_rollback(111), 1);
  EXPECT_EQ(losses.count_rollback(121), 2);
  EXPECT_EQ(losses.count_rollback(131), 0) << "the place has moved on";
  LossSpikes resumed = spikes(10, 2.0, 2);
  resumed.restore(losses.state(), 120);
  EXPECT_EQ(resumed.count_rollback(125), 0);
  EXPECT_EQ(resumed.count_rollback(132), 1);
}

TEST(LossSpikes, GoingBackForgetsTheLossesAndNotTheRollbacks) {
  LossSpikes losses = spikes(2, 2.0, 1);
  verdicts(losses, {1.0, 1.0, 1.0});
  const std::string at_three = losses.state();
  verdicts(losses, {1.2, 1.2, 9.0}, 3);
  EXPECT_EQ(losses.count_rollback(5), 1);
  losses.go_back(at_three, 3);
  EXPECT_EQ(losses.within(), 3) << "the file that it went back to is sound";
  EXPECT_FALSE(losses.beyond());
  EXPECT_EQ(losses.count(3, 2.3, true), first_spike) << "of 1 and 1";
  EXPECT_EQ(losses.within(), 3);
  EXPECT_EQ(losses.count_rollback(3), 0);
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/support/scheduler.hpp"

namespace triax::test {
namespace {

// Compares with DeepSpeed 0.19's lr_schedules.py: the learning rate (and beta1) of steps 0, 1, ...,
// with step() called after each optimizer step.
void expect_rates(const SchedulerConfig& scheduler, const std::vector<double>& expected) {
  OptimizerConfig optimizer;
  optimizer.learning_rate = 6e-4;
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(learning_rate(scheduler, optimizer, static_cast<std::int64_t>(step), 1000),
                expected[step], 1e-15 + 1e-12 * expected[step])
        << "step " << step;
}

void expect_beta1(const SchedulerConfig& scheduler, const std::vector<double>& expected) {
  const OptimizerConfig optimizer;
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(beta1_at(scheduler, optimizer, static_cast<std::int64_t>(step)), expected[step],
                1e-12)
        << "step " << step;
}

TEST(LrSchedule, Constant) {
  expect_rates({}, {6e-4, 6e-4});
}

TEST(LrSchedule, WarmupLogarithmic) {
  expect_rates(
      scheduler("WarmupLR",
                {{"warmup_min_lr", 1e-5}, {"warmup_max_lr", 1e-3}, {"warmup_num_steps", 5}}),
      {1e-05, 1e-05, 0.00043636979249265915, 0.0006857801325411255, 0.0008627395849853183, 0.001,
       0.001});
}

TEST(LrSchedule, WarmupLinear) {
  expect_rates(
      scheduler("WarmupLR",
                {{"warmup_min_lr", 1e-5}, {"warmup_max_lr", 1e-3}, {"warmup_num_steps", 5}},
                {{"warmup_type", "linear"}}),
      {1e-05, 1e-05, 0.000208, 0.000406, 0.000604, 0.000802, 0.001});
}

TEST(LrSchedule, WarmupDecay) {
  auto c = scheduler("WarmupDecayLR",
                     {{"total_num_steps", 9}, {"warmup_max_lr", 2e-3}, {"warmup_num_steps", 4}},
                     {{"warmup_type", "linear"}});
  expect_rates(c,
               {0.0, 0.0, 0.0005, 0.001, 0.0015, 0.002, 0.0016, 0.0012, 0.0008, 0.0004, 0.0, 0.0});
  c.words["warmup_type"] = "log";
  c.numbers["warmup_num_steps"] = 1;  // DeepSpeed takes 2
  expect_rates(c, {0.0, 0.0, 0.002, 0.002, 0.0017142857142857142, 0.0014285714285714286});
}

TEST(LrSchedule, WarmupCosine) {
  auto c = scheduler("WarmupCosineLR",
                     {{"total_num_steps", 10},
                      {"warmup_num_steps", 4},
                      {"warmup_min_ratio", 0.1},
                      {"cos_min_ratio", 0.01}},
                     {{"warmup_type", "linear"}});
  expect_rates(c, {0.0, 6e-05, 0.000195, 0.00033, 0.000465, 0.0005602095449239782, 0.0004515,
                   0.000303, 0.0001545, 4.57904550760217e-05, 6e-06, 6e-06, 6e-06});
  c.numbers["warmup_min_ratio"] = 0.0;
  c.numbers["cos_min_ratio"] = 1e-4;
  c.words["warmup_type"] = "log";
  expect_rates(c,
               {0.0, 0.0, 0.0003, 0.0004754887502163468, 0.0006, 0.000559811640373218, 0.000450015,
                0.00030003, 0.000150045, 4.024835962678192e-05, 6e-08, 6e-08, 6e-08});
}

SchedulerConfig one_cycle(std::map<std::string, double> more = {}) {
  more.insert({{"cycle_min_lr", 1e-4},
               {"cycle_max_lr", 1e-3},
               {"cycle_first_step_size", 4},
               {"cycle_second_step_size", 6},
               {"cycle_second_stair_count", 0}});
  return scheduler("OneCycle", more);
}

TEST(LrSchedule, OneCycleWithDecay) {
  const auto c = one_cycle({{"decay_lr_rate", 0.5},
                            {"decay_step_size", 2},
                            {"cycle_max_mom", 0.95},
                            {"decay_mom_rate", 0.01}});
  expect_rates(c, {0.0001, 0.000325, 0.00055, 0.000775, 0.001, 0.00085, 0.0007, 0.00055, 0.0004,
                   0.00025, 0.0001, 8e-05, 6.666666666666667e-05, 5.714285714285715e-05});
  expect_beta1(c, {0.8, 0.9125, 0.875, 0.8375, 0.8, 0.825, 0.85, 0.875, 0.9, 0.925, 0.95, 0.95475,
                   0.9595, 0.96425});
  EXPECT_EQ(beta2_at(c, {}), 0.99);
}

TEST(LrSchedule, OneCycleInStairs) {
  auto c = one_cycle({{"cycle_first_stair_count", 2}, {"cycle_second_stair_count", 3}});
  expect_rates(c, {0.0001, 0.0001, 0.00055, 0.00055, 0.001, 0.0007, 0.0007, 0.0004, 0.0004, 0.0001,
                   0.0001, 0.0001, 0.0001, 0.0001});
  expect_beta1(c, {0.8, 0.9, 0.85, 0.85, 0.8, 0.8333333333333334, 0.8333333333333334,
                   0.8666666666666667, 0.8666666666666667, 0.9, 0.9, 0.9, 0.9, 0.9});
  c.numbers["cycle_first_step_size"] = c.numbers["cycle_second_step_size"] = 5;
  c.numbers["cycle_second_stair_count"] = 2;
  expect_rates(c, {0.0001, 0.0001, 0.0001, 0.00055, 0.00055, 0.001, 0.00055, 0.00055, 0.0001,
                   0.0001, 0.0001, 0.0001});
}

TEST(LrSchedule, MomentumStaysWhereNothingCyclesIt) {
  const auto c = one_cycle({{"cycle_momentum", 0}});
  expect_beta1(c, {0.9, 0.9, 0.9});
  EXPECT_EQ(beta2_at(c, {}), 0.999);
  expect_beta1({}, {0.9, 0.9});
}

TEST(LrSchedule, CosineOfTheInterface) {
  auto c = scheduler("cosine", {{"warmup", 4}, {"min_lr", 2e-4}});
  OptimizerConfig optimizer;
  optimizer.learning_rate = 2e-3;
  const auto rate = [&](std::int64_t step) { return learning_rate(c, optimizer, step, 20); };
  EXPECT_DOUBLE_EQ(rate(0), 5e-4);
  EXPECT_DOUBLE_EQ(rate(3), 2e-3);
  EXPECT_DOUBLE_EQ(rate(4), 2e-3);
  EXPECT_DOUBLE_EQ(rate(12), 1.1e-3);
  EXPECT_DOUBLE_EQ(rate(19), 2e-4 + 9e-4 * (1 + std::cos(std::numbers::pi * 15 / 16)));
  EXPECT_DOUBLE_EQ(rate(25), 2e-4) << "past the end";
  c.numbers["warmup"] = 0;
  EXPECT_DOUBLE_EQ(rate(0), 2e-3);
  c.numbers["warmup"] = 100;
  EXPECT_DOUBLE_EQ(rate(19), 4e-4);
}

}  // namespace
}  // namespace triax::test

// SPDX-License-Identifier: Apache-2.0
#include "src/config/rates/linear_warmup.hpp"

#include <gtest/gtest.h>

#include "tests/support/scheduler.hpp"

namespace triax {
namespace {

RateStep step_of(const SchedulerConfig& schedule, std::int64_t step) {
  static const OptimizerConfig optimizer;
  return {schedule, optimizer, step, 20};
}

TEST(LinearWarmup, RisesFromZeroAndEndsBeforeItsLastStep) {
  const auto schedule = test::scheduler("linear", {{"num_warmup_steps", 4}});
  EXPECT_EQ(warmup_progress(step_of(schedule, 0)), 0.0);
  EXPECT_EQ(warmup_progress(step_of(schedule, 3)), 0.75);
  EXPECT_EQ(warmup_progress(step_of(schedule, 4)), std::nullopt);
  EXPECT_EQ(decay_progress(step_of(schedule, 4)), 0.0);
  EXPECT_EQ(decay_progress(step_of(schedule, 20)), 1.0);
  EXPECT_EQ(decay_progress(step_of(schedule, 28)), 1.5);
}

TEST(LinearWarmup, MayBeNoneOrAllOfTheRun) {
  const auto none = test::scheduler("linear");
  EXPECT_EQ(warmup_progress(step_of(none, 0)), std::nullopt);
  EXPECT_EQ(decay_progress(step_of(none, 10)), 0.5);
  const auto all = test::scheduler("linear", {{"num_warmup_steps", 20}});
  EXPECT_EQ(warmup_progress(step_of(all, 19)), 0.95);
  EXPECT_EQ(decay_progress(step_of(all, 20)), 0.0);
}

TEST(LinearWarmup, ACosineOfHalfAWaveFallsToZero) {
  EXPECT_EQ(cosine_height(0.5, 0.0), 1.0);
  EXPECT_NEAR(cosine_height(0.5, 0.5), 0.5, 1e-15);
  EXPECT_EQ(cosine_height(0.5, 1.0), 0.0);
  EXPECT_EQ(cosine_height(1.0, 1.0), 1.0);
}

}  // namespace
}  // namespace triax

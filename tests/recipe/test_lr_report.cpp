// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_report.hpp"

#include <gmock/gmock.h>

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config with(SchedulerKind kind, std::int64_t steps = 100) {
  Config config;
  config.run.steps = steps;
  config.optimizer.learning_rate = 0.002;
  config.scheduler.kind = kind;
  config.scheduler.warmup_max_lr = 0.002;
  config.scheduler.warmup_num_steps = 10;
  config.scheduler.warmup_linear = true;
  config.scheduler.total_num_steps = steps;
  return config;
}

void expect_only(const Config& config, const std::string& surprise) {
  EXPECT_THAT(rate_warnings(config), ElementsAre(HasSubstr(surprise)));
}

TEST(RateText, SaysWhereTheRatesBeginAndEnd) {
  EXPECT_EQ(rate_text(with(SchedulerKind::constant), 0), "learning rate 0.002, constant");
  Config cosine = with(SchedulerKind::cosine);
  cosine.scheduler.warmup = 20;
  EXPECT_THAT(rate_text(cosine, 0),
              HasSubstr("learning rate up to 0.002 by cosine: 0.0001 at step 1, "));
  EXPECT_THAT(rate_text(cosine, 60), HasSubstr("0.001 at step 61, "));
  EXPECT_EQ(rate_text(with(SchedulerKind::warmup), 0),
            "learning rate up to 0.002 by WarmupLR: 0 at step 1, 0.002 at step 100");
}

TEST(RateSurprises, SchedulesThatFitAreNone) {
  for (const SchedulerKind kind :
       {SchedulerKind::constant, SchedulerKind::warmup, SchedulerKind::warmup_decay,
        SchedulerKind::warmup_cosine, SchedulerKind::one_cycle, SchedulerKind::cosine})
    EXPECT_THAT(rate_warnings(with(kind)), IsEmpty());
}

TEST(RateSurprises, AWarmUpThatTakesTheWholeRun) {
  Config config = with(SchedulerKind::warmup);
  config.scheduler.warmup_num_steps = 1000;
  expect_only(config,
              "scheduler.params.warmup_num_steps 1000 takes all of run.steps 100: the last step "
              "has learning rate 0.000196 of 0.002");
  config.scheduler.kind = SchedulerKind::cosine;
  EXPECT_THAT(rate_warnings(config), IsEmpty()) << "it has a warm-up of its own";
  config.scheduler.warmup = 100;
  expect_only(config, "scheduler.params.warmup 100 takes");
}

// Step 51 has the rate of iteration 50, at which the decay ends.
TEST(RateSurprises, ADecayThatEndsBeforeTheRun) {
  Config config = with(SchedulerKind::warmup_decay);
  config.scheduler.total_num_steps = 50;
  expect_only(config,
              "scheduler.params.total_num_steps 50 is less than run.steps 100: the last 49 steps "
              "train at learning rate 0");
  config.scheduler.total_num_steps = 99;
  EXPECT_THAT(rate_warnings(config), IsEmpty()) << "step 99 is the first, and there is none";
}

TEST(RateSurprises, ARateThatTheSchedulerDoesNotTake) {
  Config config = with(SchedulerKind::warmup_decay);
  config.scheduler.warmup_max_lr = 1e-3;
  EXPECT_THAT(rate_warnings(config), IsEmpty()) << "the job does not say one";
  config.optimizer.rate_given = true;
  expect_only(config,
              "optimizer.params.lr 0.002 is unused: WarmupDecayLR has rates of its own, "
              "warmup_max_lr 0.001");
  config.scheduler.kind = SchedulerKind::one_cycle;
  config.scheduler.cycle_max_lr = 0.5;
  expect_only(config, "cycle_max_lr 0.5");
  config.scheduler.kind = SchedulerKind::warmup_cosine;
  EXPECT_THAT(rate_warnings(config), IsEmpty()) << "of the optimizer's";
}

TEST(MovedCosine, SaysBothRates) {
  Config config = with(SchedulerKind::cosine, 40);
  EXPECT_EQ(moved_cosine(config, 40, 20), "");
  EXPECT_EQ(moved_cosine(config, 20, 20),
            "the cosine now ends at step 40: the learning rate of step 21 is 0.001, 0 with the "
            "run.steps 20 of the checkpoint's job");
  EXPECT_EQ(moved_cosine(with(SchedulerKind::warmup_cosine, 40), 20, 20), "")
      << "it ends at total_num_steps";
}

}  // namespace
}  // namespace triax::test

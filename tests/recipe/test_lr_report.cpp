// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_report.hpp"

#include <gmock/gmock.h>

#include "tests/support/scheduler.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A run of 100 steps; a schedule of DeepSpeed warms up for 10 steps, and decays to the end.
Config with(const std::string& type, std::int64_t steps = 100,
            const std::map<std::string, double>& more = {}) {
  Config config;
  config.run.steps = steps;
  config.optimizer.learning_rate = 0.002;
  auto numbers = more;
  numbers.insert({{"warmup_max_lr", 0.002},
                  {"warmup_num_steps", 10},
                  {"total_num_steps", steps},
                  {"num_decay_steps", 10},
                  {"min_lr_rate", 0},
                  {"cycle_min_lr", 0},
                  {"cycle_max_lr", 0.5},
                  {"cycle_second_step_size", 2000},
                  {"cycle_second_stair_count", 0}});
  config.scheduler = scheduler(type, numbers, {{"warmup_type", "linear"}});
  return config;
}

void expect_only(const Config& config, const std::string& surprise) {
  EXPECT_THAT(rate_warnings(config), ElementsAre(HasSubstr(surprise)));
}

TEST(RateText, SaysWhereTheRatesBeginAndEnd) {
  EXPECT_EQ(rate_text(with("constant"), 0), "learning rate 0.002, constant");
  const Config cosine = with("cosine", 100, {{"warmup", 20}});
  EXPECT_THAT(rate_text(cosine, 0),
              HasSubstr("learning rate up to 0.002 by cosine: 0.0001 at step 1, "));
  EXPECT_THAT(rate_text(cosine, 60), HasSubstr("0.001 at step 61, "));
  EXPECT_EQ(rate_text(with("WarmupLR"), 0),
            "learning rate up to 0.002 by WarmupLR: 0 at step 1, 0.002 at step 100");
  EXPECT_EQ(rate_text(with("warmup_stable_decay"), 90),
            "learning rate up to 0.002 by warmup_stable_decay: 0.002 at step 91, 4.89e-05 at step "
            "100");
  EXPECT_EQ(rate_text(with("LRRangeTest", 100, {{"lr_range_test_step_size", 1}}), 0),
            "learning rate up to 0.1 by LRRangeTest: 0.001 at step 1, 0.1 at step 100")
      << "the rate rises";
}

TEST(RateSurprises, SchedulesThatFitAreNone) {
  for (const RateSchedule* schedule : rate_schedules())
    EXPECT_THAT(rate_warnings(with(schedule->name)), IsEmpty()) << schedule->name;
}

TEST(RateSurprises, AWarmUpThatTakesTheWholeRun) {
  expect_only(with("WarmupLR", 100, {{"warmup_num_steps", 1000}}),
              "scheduler.params.warmup_num_steps 1000 takes all of run.steps 100: the last step "
              "has learning rate 0.000196 of 0.002");
  EXPECT_THAT(rate_warnings(with("cosine", 100, {{"warmup_num_steps", 1000}})), IsEmpty())
      << "it has a warm-up of its own";
  expect_only(with("cosine", 100, {{"warmup", 100}}), "scheduler.params.warmup 100 takes");
  expect_only(with("inverse_sqrt", 100, {{"num_warmup_steps", 200}}),
              "scheduler.params.num_warmup_steps 200 takes all of run.steps 100: the last step has "
              "learning rate 0.00099 of 0.002");
}

// Step 51 has the rate of iteration 50, at which the decay ends.
TEST(RateSurprises, ADecayThatEndsBeforeTheRun) {
  expect_only(with("WarmupDecayLR", 100, {{"total_num_steps", 50}}),
              "scheduler.params.total_num_steps 50 ends the decay before run.steps 100: the last "
              "49 steps train at learning rate 0");
  EXPECT_THAT(rate_warnings(with("WarmupDecayLR", 100, {{"total_num_steps", 99}})), IsEmpty())
      << "step 99 is the first, and there is none";
  expect_only(with("warmup_stable_decay", 100,
                   {{"num_warmup_steps", 20}, {"num_stable_steps", 30}, {"min_lr_ratio", 0.5}}),
              "scheduler.params.num_stable_steps 30 ends the decay before run.steps 100: the last "
              "40 steps train at learning rate 0.001");
  EXPECT_THAT(rate_warnings(with("warmup_stable_decay", 100, {{"num_stable_steps", 90}})),
              IsEmpty());
}

TEST(RateSurprises, ARateThatTheSchedulerDoesNotTake) {
  const auto given = [](const char* type) {
    Config config = with(type, 100, {{"warmup_max_lr", 1e-3}});
    config.optimizer.rate_given = true;
    return config;
  };
  EXPECT_THAT(rate_warnings(with("WarmupDecayLR", 100, {{"warmup_max_lr", 1e-3}})), IsEmpty())
      << "the job does not say one";
  expect_only(given("WarmupDecayLR"),
              "optimizer.params.lr 0.002 is unused: WarmupDecayLR has rates of its own, "
              "warmup_max_lr 0.001");
  expect_only(given("OneCycle"), "cycle_max_lr 0.5");
  expect_only(given("LRRangeTest"), "lr_range_test_min_lr 0.001");
  EXPECT_THAT(rate_warnings(given("WarmupCosineLR")), IsEmpty()) << "of the optimizer's";
}

TEST(MovedEnd, SaysBothRates) {
  const Config config = with("cosine", 40);
  EXPECT_EQ(moved_end(config, 40, 20), "");
  EXPECT_EQ(moved_end(config, 20, 20),
            "the cosine now ends at step 40: the learning rate of step 21 is 0.001, 0 with the "
            "run.steps 20 of the checkpoint's job");
  EXPECT_EQ(moved_end(with("WarmupCosineLR", 40), 20, 20), "") << "it ends at total_num_steps";
}

TEST(MovedEnd, IsOfSchedulesThatEndAtTheRunsEnd) {
  for (const char* type :
       {"cosine", "linear", "polynomial", "cosine_with_restarts", "cosine_with_min_lr",
        "cosine_warmup_with_min_lr", "warmup_stable_decay"})
    for (const std::int64_t there : {10, 20, 80})
      EXPECT_THAT(moved_end(with(type, 40), there, 5),
                  HasSubstr(std::string("the ") + type + " now ends at step 40"))
          << there;
  for (const char* type : {"constant", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR", "OneCycle",
                           "LRRangeTest", "constant_with_warmup", "inverse_sqrt"})
    EXPECT_EQ(moved_end(with(type, 40), 20, 5), "") << type;
  EXPECT_EQ(moved_end(with("warmup_stable_decay", 40, {{"num_stable_steps", 20}}), 20, 5), "");
}

}  // namespace
}  // namespace triax::test

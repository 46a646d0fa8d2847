// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's rules (deepspeed/runtime/fp16/loss_scaler.py, DynamicLossScaler.update_scale).
#include "src/recipe/loss_scaler.hpp"

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Loss scale after each step; 'o': the step overflows, '.': it does not.
std::vector<double> scales(LossScaler& scaler, const std::string& steps) {
  std::vector<double> after;
  for (const char step : steps) {
    scaler.update(step == 'o');
    after.push_back(scaler.scale());
  }
  return after;
}

std::vector<double> scales(const LossScaleConfig& config, const std::string& steps) {
  LossScaler scaler(config);
  return scales(scaler, steps);
}

TEST(LossScaler, IsOneWhereNotEnabled) {
  LossScaler scaler({});
  EXPECT_FALSE(scaler.enabled());
  EXPECT_THAT(scales(scaler, "...."), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(scaler.state(), "");
}

TEST(LossScaler, StartsAtItsPowerAndDoublesAfterAWindow) {
  const LossScaleConfig config{.enabled = true, .initial_power = 3, .window = 3};
  EXPECT_EQ(LossScaler(config).scale(), 8.0);
  EXPECT_THAT(scales(config, "......"), ElementsAre(8, 8, 16, 16, 16, 32));
  EXPECT_EQ(LossScaler({.enabled = true}).scale(), 65536.0);
}

TEST(LossScaler, AnOverflowBeginsTheWindowAnew) {
  EXPECT_THAT(scales({.enabled = true, .initial_power = 3, .window = 3, .hysteresis = 1}, "..o..."),
              ElementsAre(8, 8, 4, 4, 4, 8));
}

TEST(LossScaler, HysteresisForgivesAllButTheLastOverflow) {
  const LossScaleConfig config{.enabled = true, .initial_power = 6, .window = 4, .hysteresis = 3};
  // Once hysteresis is used up, each overflow halves the scale.
  EXPECT_THAT(scales(config, "ooooo"), ElementsAre(64, 64, 32, 16, 8));
  // Single steps without overflow do not restore the hysteresis; a whole window does.
  EXPECT_THAT(scales(config, "o.o.o"), ElementsAre(64, 64, 64, 64, 32));
  EXPECT_THAT(scales(config, "oo....oo"), ElementsAre(64, 64, 64, 64, 64, 128, 128, 128));
}

TEST(LossScaler, ConsecutiveHysteresisIsGivenBackByAQuietStep) {
  EXPECT_THAT(scales({.enabled = true,
                      .initial_power = 6,
                      .window = 100,
                      .hysteresis = 2,
                      .consecutive_hysteresis = true},
                     "o.o.oo"),
              ElementsAre(64, 64, 64, 64, 64, 32));
}

TEST(LossScaler, FallsToItsLeastAndThenSaysWhatToDo) {
  LossScaler scaler({.enabled = true, .initial_power = 3, .hysteresis = 1, .least = 3.0});
  EXPECT_THAT(scales(scaler, "oo"), ElementsAre(4, 3));
  EXPECT_THAT(
      error_of([&] { scaler.update(true); }),
      AllOf(HasSubstr("minimum loss scale, 3"), HasSubstr("min_loss_scale"), HasSubstr("bf16")));
}

TEST(LossScaler, AFixedScaleStays) {
  LossScaler scaler({.enabled = true, .fixed = 128.0, .window = 1, .hysteresis = 1});
  EXPECT_THAT(scales(scaler, "o.oo."), ElementsAre(128, 128, 128, 128, 128));
  EXPECT_EQ(scaler.skipped(), 3);
  EXPECT_FALSE(scaler.dynamic());
}

// Also across resumes: a run without a single update must not look trained.
TEST(LossScaler, ARunThatSkippedEveryStepIsAnError) {
  const LossScaleConfig fixed{.enabled = true, .fixed = 128.0, .steps = 3};
  const LossScaleConfig dynamic{.enabled = true, .initial_power = 10, .steps = 3};
  const LossScaleConfig none{.steps = 3};
  for (const LossScaleConfig& config : {fixed, dynamic, none}) {
    LossScaler scaler(config);
    scales(scaler, "oo");
    LossScaler resumed(config);
    resumed.restore(scaler.state());
    EXPECT_THAT(error_of([&] { resumed.update(true); }),
                AllOf(HasSubstr("no step changed the weights: all 3"), HasSubstr("ower ")));
    LossScaler trained(config);
    scales(trained, "oo.");
    EXPECT_EQ(trained.skipped(), 2);
  }
}

TEST(LossScaler, GoesOnFromItsState) {
  const LossScaleConfig config{.enabled = true, .initial_power = 6, .window = 3, .hysteresis = 2};
  for (const std::string before : {"", "o", ".o.", "..", "oo..", "o.o.."}) {
    LossScaler straight(config), resumed(config);
    scales(straight, before);
    resumed.restore(straight.state());
    EXPECT_EQ(resumed.scale(), straight.scale()) << before;
    EXPECT_EQ(resumed.skipped(), straight.skipped()) << before;
    const std::string after = ".o..o....oo..";
    EXPECT_EQ(scales(resumed, after), scales(straight, after)) << before;
    EXPECT_EQ(resumed.state(), straight.state()) << before;
  }
}

TEST(LossScaler, WithoutAScaleTheSkippedStepsStayCounted) {
  LossScaler fp16({.enabled = true, .initial_power = 6, .hysteresis = 1});
  scales(fp16, "oo.");
  LossScaler bf16({});
  bf16.restore(fp16.state());
  EXPECT_EQ(bf16.scale(), 1.0);
  EXPECT_EQ(bf16.skipped(), 2);
  LossScaler again({.enabled = true, .initial_power = 5});
  again.restore(bf16.state());
  EXPECT_EQ(again.scale(), 32.0);
  EXPECT_EQ(again.skipped(), 2);
}

TEST(LossScaler, WhatIsNoStateIsAnError) {
  LossScaler scaler({.enabled = true});
  for (const char* text : {"scale", "{}", "[1]", "7"})
    EXPECT_THAT(error_of([&] { scaler.restore(text); }), HasSubstr("loss scale")) << text;
  scaler.restore("");
  EXPECT_EQ(scaler.scale(), 65536.0);
}

// It tells nothing of the scale, and its learning rate is not counted.
TEST(LossScaler, PassesOverAStepWithoutLabels) {
  const LossScaleConfig config{.enabled = true, .initial_power = 3, .window = 2};
  LossScaler scaler(config);
  scaler.update(false);
  scaler.pass_over();
  EXPECT_EQ(scaler.scale(), 8.0);
  EXPECT_EQ(scaler.skipped(), 1);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 16.0);
}

TEST(LossScaler, RefusesARunWithoutAnyLabel) {
  LossScaler scaler({.steps = 2});
  scaler.pass_over();
  EXPECT_THAT(
      error_of([&] { scaler.pass_over(); }),
      AllOf(HasSubstr("no step changed the weights"), HasSubstr("-100"), HasSubstr("data.train")));
}

}  // namespace
}  // namespace triax::test

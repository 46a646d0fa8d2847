// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/bad_steps.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

StepMetrics step(double loss, bool skipped) {
  StepMetrics metrics;
  metrics.loss = loss;
  metrics.skipped = skipped;
  return metrics;
}

TEST(BadSteps, AreThoseInARow) {
  const LossScaler none({});
  BadSteps bad(none);
  bad.count(step(std::nan(""), true), none);
  bad.count(step(1.0, true), none);
  EXPECT_EQ(bad.in_a_row(), 2);
  EXPECT_THAT(bad.error(7, "").what(),
              AllOf(HasSubstr("2 steps in a row, from step 6 on"), HasSubstr("the run diverged"),
                    Not(HasSubstr("no checkpoint"))));
  EXPECT_THAT(bad.error(7, "there is no checkpoint: disk full").what(),
              HasSubstr("(the run diverged; there is no checkpoint: disk full). "));
  bad.count(step(1.0, false), none);
  EXPECT_EQ(bad.in_a_row(), 0);
}

TEST(BadSteps, SayWhyNothingIsSavedAmidThem) {
  const LossScaler none({});
  BadSteps bad(none);
  EXPECT_EQ(bad.nothing_to_save(5, false), "the weights that step 5 left are not finite");
  bad.count(step(std::nan(""), true), none);
  EXPECT_EQ(bad.nothing_to_save(5, false),
            "the last step was not finite, and neither are the weights that step 4 left");
  bad.count(step(std::nan(""), true), none);
  EXPECT_EQ(bad.nothing_to_save(5, false),
            "the last 2 steps were not finite, and neither are the weights that step 3 left");
  EXPECT_EQ(bad.nothing_to_save(2, true),
            "the last 2 steps were not finite, and this run has made no other");
}

TEST(BadSteps, OverflowsByWhichAScaleIsFoundAreNone) {
  LossScaleConfig config;
  config.enabled = true;
  LossScaler scaler(config);
  BadSteps bad(scaler);
  bad.count(step(1.0, true), scaler);
  EXPECT_EQ(bad.in_a_row(), 0);
  bad.count(step(HUGE_VAL, true), scaler);
  EXPECT_EQ(bad.in_a_row(), 1);

  config.fixed = 128.0;
  const LossScaler fixed(config);
  BadSteps of_fixed(fixed);
  of_fixed.count(step(1.0, true), fixed);
  EXPECT_EQ(of_fixed.in_a_row(), 1);
  EXPECT_THAT(of_fixed.error(1, "").what(), HasSubstr("the fixed loss scale, 128, is too large"));
}

TEST(BadSteps, KeepTheScaleFromBeforeThem) {
  LossScaleConfig config;
  config.enabled = true;
  LossScaler scaler(config);
  scaler.update(false);
  BadSteps bad(scaler);
  const std::string before = scaler.state();
  for (int i = 0; i < 2; ++i) {
    scaler.update(true);
    bad.count(step(std::nan(""), true), scaler);
  }
  EXPECT_NE(scaler.state(), before);
  EXPECT_EQ(bad.scaler_before().state(), before);
  scaler.update(false);
  bad.count(step(1.0, false), scaler);
  EXPECT_EQ(bad.scaler_before().state(), scaler.state());
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/progress.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

StepMetrics metrics_of(std::int64_t step) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.loss = 3.25;
  metrics.grad_norm = 0.5;
  metrics.lr = 1e-3;
  metrics.tokens_per_second = 1234.0;
  return metrics;
}

// Text written to standard error during steps [first, last).
std::string shown(const std::string& mode, std::int64_t first, std::int64_t last,
                  std::int64_t steps, std::int64_t interval) {
  testing::internal::CaptureStderr();
  {
    Progress progress(mode, first, steps, interval);
    for (std::int64_t step = first; step < last; ++step) progress.step(metrics_of(step));
  }
  return testing::internal::GetCapturedStderr();
}

std::int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(Progress, ASkippedStepHasNoNorm) {
  testing::internal::CaptureStderr();
  StepMetrics metrics = metrics_of(0);
  metrics.grad_norm = std::numeric_limits<double>::quiet_NaN();
  metrics.skipped = true;
  Progress("lines", 0, 1, 1).step(metrics);
  metrics.loss_scale = 1024.0;
  Progress("lines", 0, 1, 1).step(metrics);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, AllOf(HasSubstr("grad norm not finite"), HasSubstr("grad norm overflows"),
                          Not(HasSubstr("nan"))));
}

TEST(Progress, LinesComeFirstLastAndAtTheirInterval) {
  const std::string text = shown("lines", 0, 25, 25, 10);
  EXPECT_EQ(lines_of(text), 4);
  for (const char* step : {"     1/25", "    10/25", "    20/25", "    25/25"})
    EXPECT_THAT(text, HasSubstr(step));
  EXPECT_THAT(text, AllOf(HasSubstr("loss 3.2500"), HasSubstr("grad norm 0.500"),
                          HasSubstr("lr 0.001"), HasSubstr("1234 tokens/s"), HasSubstr("0s left")));
}

TEST(Progress, AResumedRunBeginsWithItsFirstStep) {
  const std::string text = shown("lines", 13, 20, 20, 10);
  EXPECT_EQ(lines_of(text), 2);
  EXPECT_THAT(text, AllOf(HasSubstr("    14/20"), HasSubstr("    20/20")));
}

TEST(Progress, TheTimeLeftIsThatOfThisRunsSteps) {
  testing::internal::CaptureStderr();
  StepMetrics metrics = metrics_of(13);
  metrics.step_seconds = 60.0;
  Progress("lines", 13, 24, 1).step(metrics);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("10m00s left"));
}

TEST(Progress, AnIntervalOfZeroIsEveryStep) {
  EXPECT_EQ(lines_of(shown("lines", 0, 4, 10, 0)), 4);
}

TEST(Progress, TheBarIsOneLine) {
  const std::string text = shown("bar", 0, 10, 20, 10);
  EXPECT_EQ(lines_of(text), 1);
  EXPECT_TRUE(text.ends_with('\n'));
  EXPECT_THAT(
      text, AllOf(HasSubstr("\r[===============               ] 10/20"), HasSubstr("loss 3.2500")));
}

TEST(Progress, APauseEndsTheBarsLineOnce) {
  testing::internal::CaptureStderr();
  Progress progress("bar", 0, 10, 1);
  progress.pause();
  progress.step(metrics_of(0));
  progress.pause();
  progress.pause();
  EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()), 1);
}

TEST(Progress, AutoWithoutATerminalIsLines) {
  EXPECT_THAT(shown("auto", 0, 1, 1, 1), Not(HasSubstr("\r")));
}

TEST(Progress, NoneIsSilent) {
  EXPECT_EQ(shown("none", 0, 10, 10, 1), "");
}

}  // namespace
}  // namespace triax

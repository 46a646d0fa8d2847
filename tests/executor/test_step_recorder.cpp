// SPDX-License-Identifier: Apache-2.0
#include "src/executor/step_recorder.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(StepRecorder, KeepsTheStampsOfItsStepsApart) {
  StepRecorder recorder({.first = 5, .end = 7}, 3);
  EXPECT_EQ(recorder.of(4), nullptr);
  EXPECT_EQ(recorder.of(7), nullptr);
  EXPECT_FALSE(recorder.holds_any());
  for (const std::int64_t step : {5, 6})
    for (int at = 0; at < 4; ++at) recorder.of(step)[at] = {step * 10 + at, step * 10 + at + 1};
  ASSERT_EQ(recorder.all().size(), 8U);
  for (std::size_t at = 0; at < 8; ++at)
    EXPECT_EQ(recorder.all()[at].begin, static_cast<std::int64_t>(at < 4 ? 50 + at : 56 + at));
  EXPECT_TRUE(recorder.holds_any());
  recorder.clear();
  EXPECT_FALSE(recorder.holds_any());
  EXPECT_EQ(recorder.all().size(), 8U);
}

TEST(StepRecorder, TakesNoMemoryWithoutSteps) {
  const StepRecorder recorder({}, 1000);
  EXPECT_TRUE(recorder.all().empty());
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/start_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace triax {
namespace {

std::ptrdiff_t position_of(std::string_view name) {
  const auto steps = start_steps();
  return std::ranges::find(steps, name, &StartStep::name) - steps.begin();
}

TEST(StartSteps, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const StartStep& step : start_steps())
    EXPECT_TRUE(names.insert(step.name).second) << step.name;
}

// The checkpoint is chosen after the lock is taken: the previous holder may just have written one.
// A job that does not fit is refused before files of killed runs are removed and new ones made.
TEST(StartSteps, ComeInAnOrderThatLosesNothing) {
  EXPECT_LT(position_of("locks of the run's directories"),
            position_of("the checkpoint of a requeued job"));
  EXPECT_LT(position_of("memory of each rank"), position_of("offload files that killed runs left"));
  EXPECT_LT(position_of("offload files that killed runs left"), position_of("offload files"));
  EXPECT_LT(position_of("offload files"), std::ssize(start_steps()));
}

// A stall report names the step at which a rank is.
TEST(StartSteps, HaveATextForEachPosition) {
  EXPECT_EQ(start_text(0), "start-up");
  int position = 0;
  for (const StartStep& step : start_steps())
    EXPECT_EQ(start_text(++position), "start-up (" + std::string(step.name) + ")");
  EXPECT_EQ(start_text(position + 1), "start-up");
}

}  // namespace
}  // namespace triax

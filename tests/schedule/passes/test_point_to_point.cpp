// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::make_shape;
using test::position_of;

bool is_compute(const Op& op) {
  return op.kind == OpKind::Forward || op.kind == OpKind::Backward;
}

// Most sends of one direction in flight at once.
int most_sends(const Plan& plan, OpKind start, OpKind wait) {
  int now = 0;
  int most = 0;
  for (const Op& op : plan) {
    if (op.kind == wait) --now;
    if (op.kind == start) most = std::max(most, ++now);
  }
  return most;
}

// Exactly one compute instruction stands between the start and the wait of a receive, and none
// before the first.
TEST(AddPointToPoint, ReceivesAreOneInstructionAhead) {
  for (const auto& [name, chunks] : {std::pair{"gpipe", 2}, {"1f1b", 1}, {"interleaved", 3}}) {
    const PlanShape shape = make_shape({.stages = 4, .chunks = chunks, .microbatches = 8});
    for (const Plan& plan : add_point_to_point(make_schedule(name, shape), shape)) {
      const auto first = std::find_if(plan.begin(), plan.end(), is_compute) - plan.begin();
      for (std::ptrdiff_t i = 0; i < std::ssize(plan); ++i) {
        Op wait = plan[i];
        if (wait.kind == OpKind::RecvActivationStart)
          wait.kind = OpKind::RecvActivationWait;
        else if (wait.kind == OpKind::RecvGradientStart)
          wait.kind = OpKind::RecvGradientWait;
        else
          continue;
        const auto end = position_of(plan, wait);
        const auto between = std::count_if(plan.begin() + i, plan.begin() + end, is_compute);
        EXPECT_EQ(between, end < first ? 0 : 1) << name << ", op " << i << " " << text_of(plan[i]);
      }
    }
  }
}

TEST(AddPointToPoint, OneForwardOneBackwardHasOneSendADirection) {
  for (int stages = 2; stages <= 8; ++stages)
    for (int microbatches = 1; microbatches <= 16; ++microbatches) {
      const PlanShape shape = make_shape({.stages = stages, .microbatches = microbatches});
      for (const Plan& plan : training_plans("1f1b", shape)) {
        EXPECT_LE(most_sends(plan, OpKind::SendActivationStart, OpKind::SendActivationWait), 1);
        EXPECT_LE(most_sends(plan, OpKind::SendGradientStart, OpKind::SendGradientWait), 1);
      }
    }
}

// The reason for late waits: with the wait before the next send, gpipe on several chunks deadlocks.
TEST(AddPointToPoint, LateWaitsKeepGpipeWithChunksFromDeadlock) {
  const PlanShape shape = make_shape({.stages = 2, .chunks = 2, .microbatches = 8});
  Plans plans = training_plans("gpipe", shape);
  EXPECT_NO_THROW(verify(plans, shape, PlanUse::training));
  Plan& last = plans[1];
  const Op wait{OpKind::SendActivationWait, 0, 0, 0};
  last.erase(last.begin() + position_of(last, wait));
  last.insert(last.begin() + position_of(last, {OpKind::SendActivationStart, 0, 0, 1}), wait);
  try {
    verify(plans, shape, PlanUse::training);
    FAIL() << "no deadlock";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("stage 1, op 8 (send act c0 m0 wait)"));
    EXPECT_THAT(error.what(), testing::HasSubstr("so does"));
  }
}

TEST(AddPointToPoint, RefusesAnInputThatIsNeverMade) {
  const PlanShape shape = make_shape({.stages = 2});
  const Plans plans = {{{OpKind::Backward, 0, -1, 0}, {OpKind::Forward, 0, -1, 0}},
                       {{OpKind::Forward, 0, -1, 0}, {OpKind::Backward, 0, -1, 0}}};
  EXPECT_THROW(add_point_to_point(plans, shape), std::logic_error);
}

}  // namespace
}  // namespace triax

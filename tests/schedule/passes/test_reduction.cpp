// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using test::position_of;
using test::three_layers;
using testing::ElementsAre;

// The limit that bounds MPI's memory for reductions: at 0 each reduction is waited for at once,
// else one block is always allowed.
TEST(AddReduction, WaitsForTheOldestWhereTooMuchIsUnderWay) {
  PlanShape shape{.stages = 1, .layers = {{3}}, .data_parallel = true};
  shape.blocks = {{{.layers = {{0, 0}}, .elements = 20},
                   {.layers = {{0, 1}}, .elements = 10},
                   {.layers = {{0, 2}}, .elements = 10}}};
  const Plan plan = {
      {OpKind::Backward, 0, 2, 0}, {OpKind::Backward, 0, 1, 0}, {OpKind::Backward, 0, 0, 0}};
  const auto reduced = [&](std::int64_t ahead) {
    shape.reduce_ahead = ahead;
    return lines_of(add_reduction({plan}, shape)[0]);
  };
  EXPECT_THAT(reduced(0), ElementsAre("B c0 l2 m0", "reduce b2 start", "reduce b2 wait",
                                      "B c0 l1 m0", "reduce b1 start", "reduce b1 wait",
                                      "B c0 l0 m0", "reduce b0 start", "reduce b0 wait"));
  EXPECT_THAT(reduced(20), ElementsAre("B c0 l2 m0", "reduce b2 start", "B c0 l1 m0",
                                       "reduce b1 start", "B c0 l0 m0", "reduce b0 start",
                                       "reduce b2 wait", "reduce b1 wait", "reduce b0 wait"));
}

TEST(TrainingPlans, GradientsAreWholeInWindowsUnderZero2) {
  const PlanShape shape = three_layers(ZeroStage::gradients, 1);
  const Plan plan = training_plans("1f1b", shape)[0];
  EXPECT_THAT(lines_of(plan),
              ElementsAre("F c0 l0 m0", "F c0 l1 m0", "open grad m0 b0", "F c0 l2 m0",
                          "open grad m0 b2", "B c0 l2 m0", "reduce b2 start", "open grad m0 b1",
                          "B c0 l1 m0", "reduce b1 start", "reduce b2 wait", "B c0 l0 m0",
                          "reduce b0 start", "reduce b1 wait", "F c0 l0 m1", "F c0 l1 m1",
                          "reduce b0 wait", "open grad m1 b0", "F c0 l2 m1", "open grad m1 b2",
                          "B c0 l2 m1", "reduce b2 start", "open grad m1 b1", "B c0 l1 m1",
                          "reduce b1 start", "reduce b2 wait", "B c0 l0 m1", "reduce b0 start",
                          "reduce b1 wait", "reduce b0 wait", "tensor sum b1", "norm", "step b0",
                          "gather b0 start", "step b1", "gather b1 start", "step b2",
                          "gather b2 start", "gather b0 wait", "gather b1 wait", "gather b2 wait"));
  EXPECT_EQ(verify({plan}, shape, PlanUse::training)[0].gradients, (std::vector<int>{1, 1, 1}));
}

TEST(TrainingPlans, GpipeKeepsTheTiedGradientWholeUntilItsLastMicrobatch) {
  const PlanShape shape = three_layers(ZeroStage::gradients, 0);
  const Plan plan = training_plans("gpipe", shape)[0];
  EXPECT_EQ(std::count(plan.begin(), plan.end(), Op{.kind = OpKind::GradientOpen, .block = 0}), 1);
  EXPECT_EQ(std::count(plan.begin(), plan.end(), Op{.kind = OpKind::ReduceStart, .block = 0}), 1);
  EXPECT_EQ(std::count(plan.begin(), plan.end(), Op{.kind = OpKind::ReduceStart, .block = 1}), 2);
  const auto started = position_of(plan, {.kind = OpKind::ReduceStart, .block = 1});
  EXPECT_EQ(text_of(plan[started + 1]), "reduce b1 wait");  // nothing is reduced during compute
}

}  // namespace
}  // namespace triax

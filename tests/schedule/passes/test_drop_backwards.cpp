// SPDX-License-Identifier: Apache-2.0
// Layers without a trained parameter at or before them: plans without their backward passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using test::make_shape;
using testing::ElementsAre;

// Embedding, two blocks, head, of which the second block and the head are trained.
TEST(DropBackwards, LayersBeforeTheFirstTrainedOneRunForwardOnly) {
  const PlanShape shape{.stages = 1, .layers = {{4}}, .first_trained = {0, 2}};
  EXPECT_THAT(lines_of(training_plans("gpipe", shape).front()),
              ElementsAre("F c0 l0 m0", "drop frame c0 l0 m0", "F c0 l1 m0", "drop frame c0 l1 m0",
                          "drop input c0 l1 m0", "F c0 l2 m0", "F c0 l3 m0", "B c0 l3 m0",
                          "B c0 l2 m0", "norm"));
}

TEST(DropBackwards, NoGradientGoesToAStageWithoutBackwardPasses) {
  for (const MessageMatching way : {MessageMatching::by_tag, MessageMatching::by_order})
    for (const char* schedule : {"gpipe", "1f1b"}) {
      PlanShape shape = make_shape({.stages = 3, .microbatches = 4, .matching = way});
      shape.blocks.clear();
      const Plans whole = training_plans(schedule, shape);
      shape.first_trained = {1, 0};
      const Plans plans = training_plans(schedule, shape);
      verify(plans, shape, PlanUse::training);
      const auto count = [](const Plan& plan, OpKind kind) {
        return std::ranges::count(plan, kind, &Op::kind);
      };
      EXPECT_EQ(count(plans[0], OpKind::Backward), 0);
      EXPECT_EQ(count(plans[0], OpKind::RecvGradientStart), 0);
      EXPECT_EQ(count(plans[1], OpKind::SendGradientStart), 0);
      EXPECT_EQ(count(plans[1], OpKind::Backward), 4);
      EXPECT_EQ(count(plans[2], OpKind::SendGradientStart), 4);
      EXPECT_EQ(plans[2], whole[2]);
    }
}

// A stage without backward passes runs no further ahead than with them, so that it keeps no more of
// its outputs.
TEST(DropBackwards, KeepsTheMemoryOfAStageIndependentOfTheMicrobatches) {
  for (const MessageMatching way : {MessageMatching::by_tag, MessageMatching::by_order}) {
    const auto peaks_of = [&](int microbatches) {
      PlanShape shape = make_shape({.stages = 4,
                                    .microbatches = microbatches,
                                    .matching = way,
                                    .layers = test::Layers::two});
      shape.blocks.clear();
      shape.first_trained = {3, 0};
      return verify(training_plans("1f1b", shape), shape, PlanUse::training);
    };
    const auto few = peaks_of(6), many = peaks_of(16);
    for (int s = 0; s < 4; ++s) {
      EXPECT_EQ(few[s].boundaries, many[s].boundaries) << s;
      EXPECT_EQ(few[s].frames, many[s].frames) << s;
    }
    EXPECT_EQ(many[0].frames, std::vector<int>{1});
  }
}

}  // namespace
}  // namespace triax

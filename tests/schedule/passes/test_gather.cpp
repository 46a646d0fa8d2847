// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using test::three_layers;
using testing::ElementsAre;

TEST(TrainingPlans, ParametersAreGatheredAheadUnderZero3) {
  PlanShape shape = three_layers(ZeroStage::parameters, 1);
  shape.microbatches = 1;
  const Plan plan = training_plans("1f1b", shape)[0];
  EXPECT_THAT(
      lines_of(plan),
      ElementsAre("gather b0 start", "gather b0 wait", "gather b1 start", "F c0 l0 m0",
                  "release b0", "gather b1 wait", "gather b0 start", "F c0 l1 m0", "release b1",
                  "gather b0 wait", "gather b1 start", "open grad m0 b0", "F c0 l2 m0",
                  "release b0", "open grad m0 b2", "B c0 l2 m0", "reduce b2 start",
                  "gather b1 wait", "open grad m0 b1", "B c0 l1 m0", "reduce b1 start",
                  "reduce b2 wait", "release b1", "B c0 l0 m0", "reduce b0 start", "reduce b1 wait",
                  "reduce b0 wait", "tensor sum b1", "norm", "step b0", "step b1", "step b2",
                  "gather b2 start", "gather b2 wait"));
  EXPECT_EQ(verify({plan}, shape, PlanUse::training)[0].gathered, (std::vector<int>{1, 1, 0}));
}

TEST(TrainingPlans, TheLimitOfGatheredParametersStopsGatheringAhead) {
  PlanShape shape = three_layers(ZeroStage::parameters, 1000);
  const auto most = [&] {
    const Peaks peaks = verify(training_plans("1f1b", shape), shape, PlanUse::training)[0];
    return 100 * peaks.gathered[0] + 30 * peaks.gathered[1];
  };
  EXPECT_EQ(most(), 130);
  shape.gathered_limit = 110;
  const Plans plans = training_plans("1f1b", shape);
  std::int64_t gathered = 0;
  for (const Op& op : plans[0]) {
    const std::int64_t elements = shape.blocks[0][op.block].elements;
    if (op.kind == OpKind::GatherStart && op.block < 2) gathered += elements;
    if (op.kind == OpKind::Release) gathered -= elements;
    EXPECT_LE(gathered, 110) << text_of(op);
  }
}

TEST(EvaluationPlans, GatherToo) {
  const PlanShape shape = three_layers(ZeroStage::parameters, 0);
  PlanShape one = shape;
  one.microbatches = 1;
  EXPECT_THAT(lines_of(evaluation_plans(one)[0]),
              ElementsAre("gather b0 start", "gather b0 wait", "F c0 l0 m0", "release b0",
                          "drop frame c0 l0 m0", "gather b1 start", "gather b1 wait", "F c0 l1 m0",
                          "release b1", "drop frame c0 l1 m0", "drop input c0 l1 m0",
                          "gather b0 start", "gather b0 wait", "F c0 l2 m0", "release b0",
                          "drop frame c0 l2 m0", "drop input c0 l2 m0"));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "src/schedule/passes/ops.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using test::three_layers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(AddLoads, ShardsComeAheadOfGatheringAndOfSteps) {
  PlanShape shape = three_layers(ZeroStage::parameters, 1);
  shape.microbatches = 1;
  shape.blocks[0][0].parameters = shape.blocks[0][1].parameters = Residence::stored;
  shape.shard_buffers = 2;
  const Plan plan = training_plans("1f1b", shape)[0];
  EXPECT_THAT(
      lines_of(plan),
      ElementsAre("load b0 start", "load b1 start", "load b0 wait", "gather b0 start",
                  "gather b0 wait", "unload b0", "load b0 start", "load b1 wait", "gather b1 start",
                  "F c0 l0 m0", "release b0", "gather b1 wait", "unload b1", "load b1 start",
                  "load b0 wait", "gather b0 start", "F c0 l1 m0", "release b1", "gather b0 wait",
                  "unload b0", "load b0 start", "load b1 wait", "gather b1 start",
                  "open grad m0 b0", "F c0 l2 m0", "release b0", "open grad m0 b2", "B c0 l2 m0",
                  "reduce b2 start", "gather b1 wait", "unload b1", "load b1 start",
                  "open grad m0 b1", "B c0 l1 m0", "reduce b1 start", "reduce b2 wait",
                  "release b1", "B c0 l0 m0", "reduce b0 start", "reduce b1 wait", "reduce b0 wait",
                  "tensor sum b1", "norm", "load b0 wait", "step b0", "save b0 start",
                  "load b1 wait", "step b1", "save b0 wait", "save b1 start", "step b2",
                  "gather b2 start", "gather b2 wait", "save b1 wait"));
  EXPECT_EQ(verify({plan}, shape, PlanUse::training)[0].shards, (std::vector<int>{1, 1, 0}));
  shape.save_behind = false;
  const auto lines = lines_of(training_plans("1f1b", shape)[0]);
  const auto save = std::find(lines.begin(), lines.end(), "save b0 start");
  ASSERT_NE(save, lines.end());
  EXPECT_EQ(save[1], "save b0 wait");
  shape.shard_limit = 99;
  const Plan limited = training_plans("1f1b", shape)[0];
  EXPECT_EQ(text_of(limited[1]), "load b0 wait");  // one is loaded whatever the limit
}

// Parameters in host memory beside a device, which the host steps there.
TEST(AddLoads, WhatIsSteppedInItsStoreIsNotLoadedForThat) {
  PlanShape shape = three_layers(ZeroStage::parameters, 1);
  shape.microbatches = 1;
  shape.shard_buffers = 2;
  for (BlockUse& block : shape.blocks[0])
    if (block.parameters != Residence::whole) block.parameters = Residence::stepped_in_store;
  Plan plan = training_plans("1f1b", shape)[0];
  EXPECT_EQ(verify({plan}, shape, PlanUse::training)[0].shards, (std::vector<int>{1, 1, 0}));
  const auto norm = std::find(plan.begin(), plan.end(), Op{.kind = OpKind::GradientNorm});
  EXPECT_THAT(lines_of(Plan(norm, plan.end())), ElementsAre("norm", "step b0", "step b1", "step b2",
                                                            "gather b2 start", "gather b2 wait"));
  plan.insert(norm + 1, {on_block(OpKind::LoadStart, 0), on_block(OpKind::LoadWait, 0)});
  plan.push_back(on_block(OpKind::Unload, 0));
  EXPECT_THAT([&] { verify({plan}, shape, PlanUse::training); },
              ThrowsMessage<std::logic_error>(
                  HasSubstr("(step b0): its loaded parameters would be out of date")));
}

}  // namespace
}  // namespace triax

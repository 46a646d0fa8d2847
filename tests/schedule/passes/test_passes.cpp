// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::lines_of;
using test::make_shape;
using testing::ElementsAre;

TEST(AddUpdate, GathersInPiecesAndNoMoreAtOnceThanTheLimit) {
  PlanShape shape = test::three_layers(ZeroStage::optimizer, 1000);
  shape.blocks[0][0].gather_piece = 40;  // of 100 elements
  shape.update_ahead = 75;
  EXPECT_THAT(lines_of(add_update({{}}, shape).front()),
              ElementsAre("norm", "step b0", "gather b0 p0 start", "gather b0 p0 wait",
                          "gather b0 p1 start", "gather b0 p1 wait", "gather b0 p2 start",
                          "step b1", "gather b1 start", "step b2", "gather b2 start",
                          "gather b0 p2 wait", "gather b1 wait", "gather b2 wait"));
}

TEST(ExpandLayers, BackwardGoesInReverse) {
  const PlanShape shape{.stages = 1, .layers = {{3}}};
  const Plan plan = {{OpKind::Forward, 0, -1, 0},
                     {OpKind::SendActivationStart, 0, 0, 0},
                     {OpKind::Backward, 0, -1, 0}};
  EXPECT_THAT(lines_of(expand_layers({plan}, shape)[0]),
              ElementsAre("F c0 l0 m0", "F c0 l1 m0", "F c0 l2 m0", "send act c0 m0 start",
                          "B c0 l2 m0", "B c0 l1 m0", "B c0 l0 m0"));
}

TEST(AddRecompute, OnlyMarkedLayers) {
  const PlanShape shape{.stages = 1, .layers = {{2}}, .recompute = {{{false, true}}}};
  const Plan plan = expand_layers(make_schedule("gpipe", shape), shape)[0];
  EXPECT_THAT(lines_of(add_recompute({plan}, shape)[0]),
              ElementsAre("F c0 l0 m0", "F c0 l1 m0", "drop frame c0 l1 m0", "R c0 l1 m0",
                          "B c0 l1 m0", "B c0 l0 m0"));
}

TEST(AddInputPartition, OnlyInputsOfRecomputedLayers) {
  const PlanShape shape{
      .stages = 1, .layers = {{3}}, .recompute = {{{true, true, false}}}, .partition_inputs = true};
  const Plan plan = expand_layers(make_schedule("gpipe", shape), shape)[0];
  EXPECT_THAT(
      lines_of(add_input_partition(add_recompute({plan}, shape), shape)[0]),
      ElementsAre("F c0 l0 m0", "drop frame c0 l0 m0", "F c0 l1 m0", "drop frame c0 l1 m0",
                  "part input c0 l1 m0", "F c0 l2 m0", "B c0 l2 m0", "gather input c0 l1 m0",
                  "R c0 l1 m0", "B c0 l1 m0", "R c0 l0 m0", "B c0 l0 m0"));
}

// Two of three layers move during compute; the last one's input is needed at once.
TEST(AddInputOffload, InputsLeaveBesideComputeAndComeBackBesideIt) {
  PlanShape shape{.stages = 1,
                  .layers = {{4}},
                  .recompute = {{{true, true, true, true}}},
                  .offload_inputs = true};
  const Plan plan = add_recompute(expand_layers(make_schedule("gpipe", shape), shape), shape)[0];
  EXPECT_THAT(
      lines_of(add_input_offload({plan}, shape)[0]),
      ElementsAre("F c0 l0 m0", "drop frame c0 l0 m0", "F c0 l1 m0", "drop frame c0 l1 m0",
                  "offload input c0 l1 m0 start", "F c0 l2 m0", "offload input c0 l1 m0 wait",
                  "drop frame c0 l2 m0", "offload input c0 l2 m0 start", "F c0 l3 m0",
                  "offload input c0 l2 m0 wait", "drop frame c0 l3 m0", "R c0 l3 m0",
                  "reload input c0 l2 m0 start", "B c0 l3 m0", "reload input c0 l2 m0 wait",
                  "R c0 l2 m0", "reload input c0 l1 m0 start", "B c0 l2 m0",
                  "reload input c0 l1 m0 wait", "R c0 l1 m0", "B c0 l1 m0", "R c0 l0 m0",
                  "B c0 l0 m0"));
  shape.offload_inputs = false;
  EXPECT_EQ(add_input_offload({plan}, shape)[0], plan);
}

TEST(AddInputOffload, PartsLeaveWhereThatIsKept) {
  const PlanShape shape{.stages = 1,
                        .microbatches = 3,
                        .layers = {{3}},
                        .recompute = {{{false, true, false}}},
                        .partition_inputs = true,
                        .offload_inputs = true};
  const Plans plans = training_plans("gpipe", shape);
  const Plan& plan = plans[0];
  const auto at = [&](OpKind kind) { return test::position_of(plan, {kind, 0, 1, 0}); };
  EXPECT_EQ(at(OpKind::OffloadInputStart), at(OpKind::PartitionInput) + 1);
  EXPECT_EQ(at(OpKind::ReloadInputWait), at(OpKind::GatherInput) - 1);
  PlanShape without = shape;
  without.offload_inputs = false;
  const Peaks there = verify(plans, shape, PlanUse::training)[0];
  const Peaks here = verify(training_plans("gpipe", without), without, PlanUse::training)[0];
  EXPECT_EQ(there.inputs, 3);
  EXPECT_EQ(here.inputs, 0);
  EXPECT_LT(there.parts, here.parts);
  EXPECT_EQ(there.boundaries, here.boundaries);
}

TEST(AddForwardDrops, TokensAreNotABoundary) {
  const PlanShape shape{.stages = 1, .layers = {{2}}};
  const Plan plan = {{OpKind::Forward, 0, 0, 0}, {OpKind::Forward, 0, 1, 0}};
  EXPECT_THAT(lines_of(add_forward_drops({plan}, shape)[0]),
              ElementsAre("F c0 l0 m0", "drop frame c0 l0 m0", "F c0 l1 m0", "drop frame c0 l1 m0",
                          "drop input c0 l1 m0"));
}

TEST(AddUpdate, ReducesEarlyThenNormThenStep) {
  PlanShape shape{.stages = 1,
                  .microbatches = 2,
                  .layers = {{3}},
                  .data_parallel = true,
                  .zero = ZeroStage::optimizer};
  shape.blocks = {{{.layers = {{0, 0}, {0, 2}}}, {.layers = {{0, 1}}, .tensor_sum = true}}};
  const Plan plan = {{OpKind::Backward, 0, 1, 0}, {OpKind::Backward, 0, 2, 0},
                     {OpKind::Backward, 0, 2, 1}, {OpKind::Backward, 0, 1, 1},
                     {OpKind::Backward, 0, 0, 0}, {OpKind::Backward, 0, 0, 1}};
  EXPECT_THAT(lines_of(add_update(add_reduction({plan}, shape), shape)[0]),
              ElementsAre("B c0 l1 m0", "B c0 l2 m0", "B c0 l2 m1", "B c0 l1 m1", "tensor sum b1",
                          "reduce b1 start", "B c0 l0 m0", "B c0 l0 m1", "reduce b0 start",
                          "reduce b1 wait", "reduce b0 wait", "norm", "step b0", "gather b0 start",
                          "step b1", "gather b1 start", "gather b0 wait", "gather b1 wait"));
}

TEST(AddUpdate, LeavesOutWhatTheShapeDoesNotAsk) {
  const PlanShape shape{.stages = 1, .layers = {{1}}, .blocks = {{{.layers = {{0, 0}}}}}};
  EXPECT_THAT(lines_of(add_update({{{OpKind::Backward}}}, shape)[0]),
              ElementsAre("B c0 l0 m0", "norm", "step b0"));
  const PlanShape bare{.stages = 1, .layers = {{1}}};
  EXPECT_THAT(lines_of(add_update({{{OpKind::Backward}}}, bare)[0]),
              ElementsAre("B c0 l0 m0", "norm"));
}

TEST(TrainingPlans, GoldenTextOf1f1b) {
  PlanShape shape = make_shape({.stages = 2,
                                .microbatches = 2,
                                .layers = Layers::one,
                                .data_parallel = true,
                                .zero = ZeroStage::optimizer,
                                .tied = true,
                                .tensor_sum = true});
  shape.layers[0][0] = 2;
  shape.blocks[0].push_back({.layers = {{0, 1}}});
  shape.recompute = {{{false, true}}, {{false}}};
  const Plans plans = training_plans("1f1b", shape);
  EXPECT_EQ(text_of(plans[0]), R"( 0  F c0 l0 m0
 1  F c0 l1 m0
 2  drop frame c0 l1 m0
 3  send act c0 m0 start
 4  recv grad c0 m0 start
 5  F c0 l0 m1
 6  F c0 l1 m1
 7  drop frame c0 l1 m1
 8  send act c0 m0 wait
 9  send act c0 m1 start
10  recv grad c0 m1 start
11  recv grad c0 m0 wait
12  R c0 l1 m0
13  B c0 l1 m0
14  B c0 l0 m0
15  recv grad c0 m1 wait
16  R c0 l1 m1
17  B c0 l1 m1
18  reduce b1 start
19  B c0 l0 m1
20  tensor sum b0
21  reduce b0 start
22  send act c0 m1 wait
23  reduce b1 wait
24  reduce b0 wait
25  tied sum b0
26  norm
27  step b0
28  gather b0 start
29  step b1
30  gather b1 start
31  gather b0 wait
32  gather b1 wait
)");
  EXPECT_EQ(text_of(plans[1]), R"( 0  recv act c0 m0 start
 1  recv act c0 m0 wait
 2  F c0 l0 m0
 3  recv act c0 m1 start
 4  B c0 l0 m0
 5  send grad c0 m0 start
 6  recv act c0 m1 wait
 7  F c0 l0 m1
 8  B c0 l0 m1
 9  send grad c0 m0 wait
10  send grad c0 m1 start
11  tensor sum b0
12  reduce b0 start
13  send grad c0 m1 wait
14  reduce b0 wait
15  tied sum b0
16  norm
17  step b0
18  gather b0 start
19  gather b0 wait
)");
}

TEST(EvaluationPlans, GoldenText) {
  EXPECT_EQ(text_of(evaluation_plans(make_shape({.stages = 2, .microbatches = 2}))[1]),
            R"(0  recv act c0 m0 start
1  recv act c0 m1 start
2  recv act c0 m0 wait
3  F c0 l0 m0
4  drop frame c0 l0 m0
5  drop input c0 l0 m0
6  recv act c0 m1 wait
7  F c0 l0 m1
8  drop frame c0 l0 m1
9  drop input c0 l0 m1
)");
}

TEST(TrainingPlans, RefuseWhatCannotBeBuilt) {
  EXPECT_THROW(training_plans("1f1b", make_shape({.stages = 2, .chunks = 2})),
               std::invalid_argument);
  EXPECT_THROW(training_plans("interleaved", make_shape({.stages = 2, .microbatches = 3})),
               std::invalid_argument);
  EXPECT_THROW(training_plans("", make_shape({})), std::invalid_argument);
  EXPECT_THROW(evaluation_plans({.stages = 2, .layers = {{1}}}), std::invalid_argument);
}

}  // namespace
}  // namespace triax

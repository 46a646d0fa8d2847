#include "src/schedule/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "src/schedule/schedules.hpp"
#include "src/schedule/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::Layers;
using test::make_shape;
using test::Marks;
using testing::ElementsAre;

std::vector<std::string> lines_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const Op& op : plan) lines.push_back(text_of(op));
  return lines;
}

bool is_compute(const Op& op) {
  return op.kind == OpKind::Forward || op.kind == OpKind::Backward;
}

std::ptrdiff_t position_of(const Plan& plan, const Op& op) {
  const auto found = std::find(plan.begin(), plan.end(), op);
  EXPECT_NE(found, plan.end()) << text_of(op);
  return found - plan.begin();
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

// What bounds MPI's memory for reductions: with none ahead each is waited for at once, and one
// block is always allowed.
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

// Embedding, block, head with the embedding's matrix: what is whole, and when.
PlanShape three_layers(ZeroStage zero, std::int64_t ahead) {
  PlanShape shape{.stages = 1, .microbatches = 2, .layers = {{3}}, .zero = zero};
  shape.reduce_ahead = shape.gather_ahead = ahead;
  shape.blocks = {{{.layers = {{0, 0, false, false}, {0, 2, true, false}}, .elements = 100},
                   {.layers = {{0, 1}}, .tensor_sum = true, .elements = 30, .pool = 1},
                   {.layers = {{0, 2}}, .persistent = true, .elements = 5, .pool = 2}}};
  return shape;
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
  EXPECT_EQ(text_of(plan[started + 1]), "reduce b1 wait");  // nothing is reduced behind compute
}

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

// Two blocks in parts; of the first, part 0 stays in memory.
Plan offloaded(int buffers, bool fetch_ahead, bool store_behind) {
  PlanShape shape{.stages = 1, .layers = {{2}}};
  shape.blocks = {
      {{.layers = {{0, 0}}, .parts = 3, .kept_parts = 1}, {.layers = {{0, 1}}, .parts = 1}}};
  shape.state_buffers = buffers;
  shape.fetch_ahead = fetch_ahead;
  shape.store_behind = store_behind;
  const Plan plan = add_offload(add_update({{}}, shape), shape)[0];
  Plan whole_step = training_plans("1f1b", shape)[0];
  EXPECT_EQ(verify({whole_step}, shape, PlanUse::training)[0].states,
            std::min(buffers, 1 + (fetch_ahead ? 1 : 0) + (store_behind ? 1 : 0)));
  return plan;
}

TEST(AddOffload, EachPartWaitsForTheDiskWithoutPipelining) {
  EXPECT_THAT(
      lines_of(offloaded(4, false, false)),
      ElementsAre("norm", "step b0 p0", "fetch b0 p1 start", "fetch b0 p1 wait", "step b0 p1",
                  "store b0 p1 start", "store b0 p1 wait", "fetch b0 p2 start", "fetch b0 p2 wait",
                  "step b0 p2", "store b0 p2 start", "store b0 p2 wait", "fetch b1 p0 start",
                  "fetch b1 p0 wait", "step b1 p0", "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, OneBufferIsFetchedAheadOfTheNormOnly) {
  EXPECT_THAT(
      lines_of(offloaded(1, true, true)),
      ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait", "step b0 p1",
                  "store b0 p1 start", "store b0 p1 wait", "fetch b0 p2 start", "fetch b0 p2 wait",
                  "step b0 p2", "store b0 p2 start", "store b0 p2 wait", "fetch b1 p0 start",
                  "fetch b1 p0 wait", "step b1 p0", "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, TheNextPartIsFetchedAndTheLastStoredWhileOneIsStepped) {
  EXPECT_THAT(lines_of(offloaded(4, true, true)),
              ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait",
                          "fetch b0 p2 start", "step b0 p1", "store b0 p1 start",
                          "fetch b0 p2 wait", "fetch b1 p0 start", "step b0 p2", "store b0 p1 wait",
                          "store b0 p2 start", "fetch b1 p0 wait", "step b1 p0", "store b0 p2 wait",
                          "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, TwoBuffersServeBothDirections) {
  EXPECT_THAT(lines_of(offloaded(2, true, true)),
              ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait",
                          "fetch b0 p2 start", "step b0 p1", "store b0 p1 start",
                          "fetch b0 p2 wait", "store b0 p1 wait", "fetch b1 p0 start", "step b0 p2",
                          "store b0 p2 start", "fetch b1 p0 wait", "step b1 p0", "store b0 p2 wait",
                          "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddLoads, ShardsComeAheadOfGatheringAndOfSteps) {
  PlanShape shape = three_layers(ZeroStage::parameters, 1);
  shape.microbatches = 1;
  shape.blocks[0][0].stored = shape.blocks[0][1].stored = true;
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
  shape.shard_limit = 99;
  const Plan limited = training_plans("1f1b", shape)[0];
  EXPECT_EQ(text_of(limited[1]), "load b0 wait");  // one is loaded whatever the limit
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

// Between the start and the wait of a receive stands exactly one compute instruction; none before
// the first.
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

// Sends of one direction that are on their way at once.
int most_sends(const Plan& plan, OpKind start, OpKind wait) {
  int now = 0;
  int most = 0;
  for (const Op& op : plan) {
    if (op.kind == wait) --now;
    if (op.kind == start) most = std::max(most, ++now);
  }
  return most;
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

// Why waits may come late: with the wait before the next send, gpipe on several chunks stops.
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

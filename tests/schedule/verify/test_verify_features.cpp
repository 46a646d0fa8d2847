// SPDX-License-Identifier: Apache-2.0
// Whole plans in which a group of instructions is missing, or present without being asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"
#include "tests/schedule/plan_subjects.hpp"

namespace triax {
namespace {

using test::error_of;
using test::Subject;
using test::training;
using testing::HasSubstr;

Plans without(const Plans& plans, const auto& unwanted) {
  Plans left = plans;
  for (Plan& plan : left) std::erase_if(plan, unwanted);
  return left;
}

TEST(Features, ThatAreMissingAsAWholeAreFound) {
  const Subject subject = training("1f1b", 3, 1, 4);
  const auto error_without = [&](std::initializer_list<OpKind> kinds) {
    const auto unwanted = [&](const Op& op) {
      return std::find(kinds.begin(), kinds.end(), op.kind) != kinds.end();
    };
    return error_of(subject, without(subject.plans, unwanted)).value_or("accepted");
  };
  EXPECT_THAT(error_without({OpKind::TensorSum}),
              HasSubstr("(reduce b2 start): the next for block 2 is tensor sum b2"));
  EXPECT_THAT(error_without({OpKind::ReduceStart, OpKind::ReduceWait}),
              HasSubstr("(tied sum b2): the next for block 2 is reduce b2 start"));
  EXPECT_THAT(error_without({OpKind::TiedSum}),
              HasSubstr("(norm): the next for block 2 is tied sum b2"));
  EXPECT_THAT(error_without({OpKind::GradientNorm}),
              HasSubstr("(step b0): the next for block 0 is norm"));
  EXPECT_THAT(error_without({OpKind::GatherStart, OpKind::GatherWait}),
              HasSubstr("end: gather b0 start is missing"));
  EXPECT_THAT(error_without({OpKind::Step, OpKind::GatherStart, OpKind::GatherWait}),
              HasSubstr("step b0 is missing"));
  EXPECT_THAT(error_without({OpKind::Backward}), HasSubstr("its backward does not follow at once"));
  EXPECT_THAT(error_without({OpKind::SendActivationWait}),
              HasSubstr("end: activations or gradients are left in use"));
  EXPECT_THAT(error_without({OpKind::SendActivationStart, OpKind::SendActivationWait}),
              HasSubstr("waits for ever"));
}

// A plan that keeps an input whole is valid, and its peaks show the memory.
TEST(Features, AWholeInputMayBeKept) {
  const Subject subject = training("1f1b", 3, 1, 4, ZeroStage::optimizer, true);
  const Plans kept = without(subject.plans, [](const Op& op) {
    return op.kind == OpKind::PartitionInput || op.kind == OpKind::GatherInput;
  });
  const auto before = verify(subject.plans, subject.shape, PlanUse::training);
  const auto after = verify(kept, subject.shape, PlanUse::training);
  EXPECT_GT(before[1].parts, 0);
  EXPECT_EQ(after[1].parts, 0);
  EXPECT_LT(before[1].boundaries, after[1].boundaries);
}

// A plan that keeps a frame although it could drop it is valid too.
TEST(Features, AFrameMayBeKept) {
  const Subject subject = training("1f1b", 3, 1, 4);
  const Plans kept = without(subject.plans, [](const Op& op) {
    return op.kind == OpKind::DropFrame || op.kind == OpKind::Recompute;
  });
  const auto before = verify(subject.plans, subject.shape, PlanUse::training);
  const auto after = verify(kept, subject.shape, PlanUse::training);
  EXPECT_LT(before[0].frames, after[0].frames);
}

TEST(Features, NobodyAskedForAreFound) {
  Subject subject = training("1f1b", 3, 1, 4);
  const auto error_with = [&](auto&& change) {
    Subject other = subject;
    change(other.shape);
    return error_of(other, other.plans).value_or("accepted");
  };
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][0].parts = 2; }),
              HasSubstr("(step b0): there is no such part"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.recompute.clear(); }),
              HasSubstr("does not recompute this layer"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.data_parallel = false; }), HasSubstr("(reduce b"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.zero = ZeroStage::none; }),
              HasSubstr("block 0 is finished"));
  EXPECT_THAT(error_with([](PlanShape& s) { s.blocks[0][0].tensor_sum = false; }),
              HasSubstr("(tensor sum b0)"));
  EXPECT_THAT(
      error_with([](PlanShape& s) { s.blocks[0][0].tied = s.blocks[2].back().tied = false; }),
      HasSubstr("(tied sum b"));
  subject = training("1f1b", 3, 1, 4, ZeroStage::optimizer, true);
  EXPECT_THAT(error_with([](PlanShape& s) { s.partition_inputs = false; }),
              HasSubstr("does not partition the input of this layer"));
  subject = training("1f1b", 3, 1, 4, ZeroStage::parameters, false, 3, false, true);
  EXPECT_THAT(error_with([](PlanShape& s) { s.offload_inputs = false; }),
              HasSubstr("does not offload the input of this layer"));
  subject = training("1f1b", 3, 1, 4, ZeroStage::optimizer, true);
  subject.use = PlanUse::evaluation;
  EXPECT_THAT(error_with([](PlanShape&) {}),
              HasSubstr("a forward-only plan has no such instruction"));
}

// Blocks 0 to 3 of the last stage are frozen or trained; the first stage has no backward pass.
TEST(Features, OfFrozenBlocksAreFound) {
  const Subject subject = test::with_frozen("1f1b", 2, 1, 2);
  const auto with = [&](int stage, const Op& op) {
    Plans plans = subject.plans;
    plans[stage].push_back(op);
    return error_of(subject, plans).value_or("accepted");
  };
  ASSERT_FALSE(subject.shape.blocks[0][0].trained);
  EXPECT_THAT(with(0, {.kind = OpKind::ReduceStart}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::ReplicaSum}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::TensorSum}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::TiedSum}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::Step, .part = all}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::GatherStart, .part = all}), HasSubstr("block 0 is frozen"));
  EXPECT_THAT(with(0, {.kind = OpKind::FetchStart}), HasSubstr("there is no such part"));
  EXPECT_THAT(with(0, {.kind = OpKind::Backward}), HasSubstr("no trained parameter needs it"));
  EXPECT_THAT(with(0, {.kind = OpKind::RecvGradientStart}),
              HasSubstr("no trained parameter needs the gradient"));
  EXPECT_THAT(with(1, {.kind = OpKind::SendGradientStart}),
              HasSubstr("no trained parameter needs the gradient"));
  const Subject windows = test::with_frozen("1f1b", 2, 1, 2, ZeroStage::gradients);
  Plans plans = windows.plans;
  plans[0].push_back({.kind = OpKind::GradientOpen});
  EXPECT_THAT(error_of(windows, plans).value_or("accepted"), HasSubstr("block 0 is frozen"));
}

TEST(Features, OfATrainedBlockNeedBackwardPasses) {
  PlanShape shape = test::make_shape({.stages = 2, .microbatches = 2, .frozen = true});
  ASSERT_FALSE(shape.blocks[0][0].trained);
  shape.blocks[0][0].trained = true;
  EXPECT_THROW(check_shape(shape), std::invalid_argument);
  shape.blocks[0][0].trained = false;
  check_shape(shape);
  shape.blocks[0][0].parts = 2;
  EXPECT_THROW(check_shape(shape), std::invalid_argument);
  shape.blocks[0][0].parts = 0;
  shape.first_trained = {2, 0};
  EXPECT_THROW(check_shape(shape), std::invalid_argument);
  shape.first_trained = {1, 1};
  EXPECT_THROW(check_shape(shape), std::invalid_argument);
}

// The first micro-batch overwrites gradients and the others add to them, in every ZeRO stage.
TEST(Features, MicrobatchesInAnotherOrderWouldLoseGradients) {
  for (const ZeroStage zero : {ZeroStage::none, ZeroStage::optimizer}) {
    const PlanShape shape = test::make_shape(
        {.microbatches = 2, .layers = test::Layers::two, .data_parallel = true, .zero = zero});
    Plans plans = training_plans("gpipe", shape);
    verify(plans, shape, PlanUse::training);
    for (Op& op : plans.front())
      if (op.kind == OpKind::Backward) op.microbatch = 1 - op.microbatch;
    try {
      verify(plans, shape, PlanUse::training);
      ADD_FAILURE() << "accepted";
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), HasSubstr("must write first"));
    }
  }
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/plan/step_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

TEST(StagePlaceOfAJob, IsItsGrid) {
  const StagePlace place =
      stage_place(golden_config({.tensor = 2, .pipeline = 2, .micro = 2}).parallel, 1, 1);
  EXPECT_EQ(place.stages, 2);
  EXPECT_EQ(place.stage, 1);
  EXPECT_EQ(place.tensor.size, 2);
  EXPECT_EQ(place.tensor.rank, 1);
  EXPECT_TRUE(place.tensor.sequence_parallel);
}

TEST(PlanShapeOfAJob, FollowsModelAndGrid) {
  const PlanShape shape =
      plan_shape(golden_config({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1, .zero = 1}));
  EXPECT_EQ(shape.stages, 2);
  EXPECT_EQ(shape.microbatches, 4);
  EXPECT_EQ(shape.layers,
            (std::vector<std::vector<int>>{{3}, {3}}));  // embedding + 2 blocks, 2 blocks + head
  EXPECT_TRUE(shape.data_parallel);
  EXPECT_TRUE(shape.zero == ZeroStage::optimizer);
  EXPECT_TRUE(shape.recompute.empty());
  ASSERT_EQ(shape.blocks.size(), 2U);
  const auto tied = [](const std::vector<BlockUse>& blocks) {
    return std::count_if(blocks.begin(), blocks.end(),
                         [](const BlockUse& use) { return use.tied; });
  };
  EXPECT_EQ(tied(shape.blocks[0]), 1);
  EXPECT_EQ(tied(shape.blocks[1]), 1);
  for (const auto& stage : shape.blocks)
    for (const BlockUse& use : stage)
      EXPECT_EQ(use.tensor_sum, !use.tied);  // norms and biases under sequence parallelism
}

// Only NCCL matches messages by order; MPI matches by tags.
TEST(PlanShapeOfAJob, MessagesMatchAsWhoSendsThemDoes) {
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  const auto by_order = [&](MemorySpace space, bool staged) {
    config.place.space = space;
    config.place.staged_messages = staged;
    return plan_shape(config).matching == MessageMatching::by_order;
  };
  EXPECT_FALSE(by_order(MemorySpace::host, true));
  EXPECT_FALSE(by_order(MemorySpace::host, false));
  EXPECT_FALSE(by_order(MemorySpace::device, true));
  EXPECT_TRUE(by_order(MemorySpace::device, false));
}

TEST(PlanShapeOfAJob, OnOneStageATiedBlockIsSharedNotSummed) {
  const PlanShape shape = plan_shape(golden_config({.micro = 1}));
  EXPECT_FALSE(shape.data_parallel);
  int shared = 0;
  for (const BlockUse& use : shape.blocks[0]) {
    EXPECT_FALSE(use.tied);
    EXPECT_FALSE(use.tensor_sum);
    shared += use.layers.size() == 2 ? 1 : 0;
  }
  EXPECT_EQ(shared, 1);
}

TEST(PlanShapeOfAJob, ZeroOverOneDataRankIsNone) {
  EXPECT_FALSE(plan_shape(golden_config({.micro = 1, .zero = 1})).zero == ZeroStage::optimizer);
}

TEST(PlanShapeOfAJob, OneDataRankGathersParametersThatLiveElsewhere) {
  PlacedConfig config = golden_config({.micro = 2, .zero = 3}, "gpt2-odd");
  EXPECT_EQ(plan_shape(config).zero, ZeroStage::none);
  config.zero.persistence_threshold = 100;
  config.zero.offload_param.device = OffloadDevice::nvme;
  config.zero.offload_param.max_in_cpu = 0;
  const PlanShape shape = plan_shape(config);
  EXPECT_EQ(shape.zero, ZeroStage::parameters);
  for (const BlockUse& block : shape.blocks[0])
    EXPECT_EQ(block.stored(), block.parameters != Residence::whole);
  EXPECT_EQ(shape.shard_buffers, 5);
  // The gradients are those of the same job without offload: always whole, in the same buckets.
  EXPECT_FALSE(shape.shards_gradients());
  config.zero.offload_param.device = OffloadDevice::none;
  const PlanShape plain = plan_shape(config);
  ASSERT_EQ(shape.blocks[0].size(), plain.blocks[0].size());
  for (std::size_t b = 0; b < plain.blocks[0].size(); ++b) {
    EXPECT_EQ(shape.blocks[0][b].layers, plain.blocks[0][b].layers);
    EXPECT_EQ(shape.blocks[0][b].elements, plain.blocks[0][b].elements);
  }
}

TEST(PlanShapeOfAJob, OptimizerStateOnNvmeIsSteppedInParts) {
  PlacedConfig config = golden_config({.data = 2, .micro = 2, .zero = 1}, "gpt2-odd");
  config.zero.offload_optimizer.device = OffloadDevice::nvme;
  config.zero.offload_optimizer.pipeline_read = true;
  config.zero.offload_optimizer.part = 1024;
  const PlanShape shape = plan_shape(config);
  EXPECT_TRUE(shape.fetch_ahead && !shape.store_behind);
  EXPECT_EQ(shape.state_buffers, 4);
  for (const BlockUse& block : shape.blocks[0])
    EXPECT_EQ(block.parts, (block.elements / 2 + 1023) / 1024);
  EXPECT_EQ(step_plans(config).peaks[0].states, 2);
}

TEST(PlanShapeOfAJob, RecomputesTheFirstBlocksOfAStage) {
  using Marks = std::vector<std::vector<std::vector<bool>>>;
  EXPECT_EQ(plan_shape(golden_config({.pipeline = 2, .micro = 1, .recompute = 1})).recompute,
            (Marks{{{false, true, false}}, {{true, false, false}}}));
  EXPECT_EQ(plan_shape(golden_config({.micro = 1, .recompute = 99})).recompute,
            (Marks{{{false, true, true, true, true, false}}}));
}

TEST(PlanShapeOfAJob, SelectiveRecomputeIsNoMatterOfThePlan) {
  const PlanShape shape =
      plan_shape(golden_config({.micro = 1, .recompute = 99, .granularity = "selective"}));
  EXPECT_TRUE(shape.recompute.empty());
}

// Under sequence parallelism, and on one tensor rank, each rank has only its own rows already.
TEST(PlanShapeOfAJob, PartitionsInputsThatAreTheSameOnSeveralRanks) {
  const auto parts = [](Layout layout) {
    layout.partition = true;
    return step_plans(golden_config(layout)).peaks[0].parts;
  };
  const Layout whole{.tensor = 2, .micro = 1, .sequence_parallel = false, .recompute = 3};
  EXPECT_EQ(parts(whole), 3);
  EXPECT_EQ(parts({.tensor = 2, .micro = 1, .recompute = 3}), 0);
  EXPECT_EQ(parts({.micro = 1, .sequence_parallel = false, .recompute = 3}), 0);
  EXPECT_EQ(parts({.tensor = 2, .micro = 1, .sequence_parallel = false}), 0);
  EXPECT_EQ(step_plans(golden_config(whole)).peaks[0].parts, 0);
}

TEST(StepPlansOfAJob, PrintAsTheStepThatRuns) {
  PlacedConfig config = golden_config({.micro = 8}, "llama-tiny");
  config.model.layers = 1;
  EXPECT_EQ(text_of(step_plans(config).training.front()),
            "0  F c0 l0 m0\n"
            "1  F c0 l1 m0\n"
            "2  F c0 l2 m0\n"
            "3  B c0 l2 m0\n"
            "4  B c0 l1 m0\n"
            "5  B c0 l0 m0\n"
            "6  norm\n"
            "7  step b0\n"
            "8  step b1\n"
            "9  step b2\n");
}

TEST(StepPlansOfAJob, PeaksCoverTrainingAndEvaluation) {
  PlacedConfig config = golden_config({.pipeline = 3, .micro = 2}, "gpt2-odd");
  config.data.valid = config.data.train;
  const StepPlans plans = step_plans(config);
  const auto training = verify(plans.training, plans.shape, PlanUse::training);
  const auto evaluation = verify(plans.evaluation, plans.shape, PlanUse::evaluation);
  ASSERT_EQ(plans.peaks.size(), 3U);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(plans.peaks[s].boundaries,
              std::max(training[s].boundaries, evaluation[s].boundaries));
    for (std::size_t pool = 0; pool < training[s].frames.size(); ++pool)
      EXPECT_GE(plans.peaks[s].frames[pool], training[s].frames[pool]);
  }
}

TEST(StepPlansOfAJob, WithoutHeldOutDataNothingIsKeptForEvaluation) {
  const StepPlans plans = step_plans(golden_config({.pipeline = 3, .micro = 2}, "gpt2-odd"));
  EXPECT_TRUE(plans.evaluation.empty());
  const auto training = verify(plans.training, plans.shape, PlanUse::training);
  ASSERT_EQ(plans.peaks.size(), 3U);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(plans.peaks[s].boundaries, training[s].boundaries);
    EXPECT_EQ(plans.peaks[s].frames, training[s].frames);
  }
}

TEST(StepPlansOfAJob, AScheduleThatDoesNotFitIsTheUsersError) {
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  config.parallel.schedule = "interleaved";
  config.batch.accumulation = 3;
  EXPECT_THROW(step_plans(config), UsageError);
}

// Lines of data.validation_fraction are no files before the run prepares them.
TEST(StepPlansOfAJob, EvaluateWhereTheRunValidates) {
  PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  ASSERT_TRUE(config.data.valid.empty());
  config.run.eval_interval = 0;
  EXPECT_FALSE(validates(config));
  EXPECT_TRUE(step_plans(config).evaluation.empty());
  config.run.eval_interval = 10;
  const StepPlans split = step_plans(config);
  config.data.valid = {"valid.bin"};
  EXPECT_TRUE(validates(config));
  EXPECT_FALSE(split.evaluation.empty());
  EXPECT_EQ(split.evaluation.size(), step_plans(config).evaluation.size());
}

}  // namespace
}  // namespace triax::test

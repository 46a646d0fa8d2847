// SPDX-License-Identifier: Apache-2.0
#include "src/executor/step_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/plan/step_plan.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Buffers of a job's only stage, and their inputs.
struct OneStage {
  PlacedConfig config;
  StepPlans plans;
  Stage stage;
  BatchShape shape;
  StageLayout layout;
  BufferPlan plan;
  StepBuffers buffers;
  explicit OneStage(const Layout& layout_of_job)
      : config(golden_config(layout_of_job, "llama-tiny")),
        plans(step_plans(config)),
        stage(make_stage(config, 0, 0)),
        shape(batch_shape(config.batch.micro, config.data.sequence_length, {})),
        layout(plans.shape, 0),
        plan(plan_buffers(stage, shape, config.model.hidden, plans.peaks[0], plans.shape)),
        buffers(plan, layout, plans.shape.microbatches, {shape.local_rows, config.model.hidden},
                shape.type) {}
};

using Kind = StepBuffers::Kind;

TEST(FramePools, LayersWithEqualFramesShareOne) {
  const OneStage setup({.micro = 2});
  // embedding (no frame), four equal blocks, head
  EXPECT_EQ(setup.plans.shape.frame_pool[0], (std::vector<std::vector<int>>{{0, 1, 1, 1, 1, 2}}));
}

TEST(BufferPlan, CountsWhatThePlanHasInUseAtOnce) {
  const OneStage setup({.micro = 2});
  const std::int64_t activation = 2 * 64 * 64 * 4;
  EXPECT_EQ(setup.plan.boundary_bytes, static_cast<std::size_t>(activation));
  EXPECT_EQ(setup.plan.frames[1],
            4);  // one rank: one micro-batch at a time, with a frame per block
  EXPECT_EQ(setup.plan.frames[2], 1);
  EXPECT_EQ(setup.plan.frame_bytes[1], setup.stage.layer(0, 1).frame_bytes(setup.shape));
  const StepMemory memory = setup.plan.memory();
  EXPECT_EQ(memory.boundaries, activation * setup.plan.boundaries);
  EXPECT_EQ(memory.frames,
            static_cast<std::int64_t>(4 * setup.plan.frame_bytes[1] + setup.plan.frame_bytes[2] +
                                      setup.plan.frame_bytes[0] *
                                          static_cast<std::size_t>(setup.plan.frames[0])));
  EXPECT_GE(memory.scratch, static_cast<std::int64_t>(setup.stage.scratch_bytes(setup.shape)));
}

TEST(BufferPlan, RecomputeKeepsOneFrameOfABlock) {
  EXPECT_EQ(OneStage({.micro = 2, .recompute = 99}).plan.frames[1], 1);
  // The first two blocks release their frames before the others take them, and take them again
  // after the others are done.
  EXPECT_EQ(OneStage({.micro = 2, .recompute = 2}).plan.frames[1], 2);
}

TEST(StepBuffers, LendsItsLargestPiece) {
  const OneStage setup({.micro = 2});
  const std::span<std::byte> idle = setup.buffers.idle_memory();
  const StepMemory memory = setup.plan.memory();
  EXPECT_GE(idle.size(), 4 * setup.plan.frame_bytes[1]);
  EXPECT_GE(static_cast<std::int64_t>(idle.size()), memory.scratch);
  EXPECT_GE(static_cast<std::int64_t>(idle.size()), memory.boundaries);
  EXPECT_LE(static_cast<std::int64_t>(idle.size()),
            std::max({memory.scratch, memory.frames, memory.boundaries}));
  std::ranges::fill(idle, std::byte{7});
}

// Smaller frames have a pool of their own.
TEST(BufferPlan, SelectiveRecomputeKeepsSmallerFrames) {
  const OneStage setup({.micro = 2, .recompute = 3, .granularity = "selective"});
  EXPECT_EQ(setup.plans.shape.frame_pool[0], (std::vector<std::vector<int>>{{0, 1, 1, 1, 2, 3}}));
  EXPECT_EQ(setup.plan.frames, (std::vector<int>{1, 3, 1, 1}));
  const ModelConfig& model = setup.config.model;
  const std::size_t output = 2 * 64 * 64 * 4;
  const auto lse = static_cast<std::size_t>(2 * model.heads * 64 * 4);
  EXPECT_EQ(setup.plan.frame_bytes[2] - setup.plan.frame_bytes[1], output + lse);
}

// Three equal parts of 2 x 64 rows of 64 floats; the last one ends beyond the boundary tensor.
TEST(BufferPlan, PartsOfABoundaryAreEqual) {
  const OneStage setup({.micro = 2, .recompute = 99});
  EXPECT_EQ(setup.plan.parts, 0);
  Peaks peaks = setup.plans.peaks[0];
  peaks.parts = 4;
  PlacedConfig config = setup.config;
  config.model.heads = config.model.kv_heads = 3;
  config.model.intermediate = 96;
  config.parallel.tensor = 3;
  config.parallel.sequence_parallel = false;
  const BufferPlan plan =
      plan_buffers(make_stage(config, 0, 0), setup.shape, 64, peaks, setup.plans.shape);
  EXPECT_EQ(plan.part_bytes, 10923U);
  EXPECT_EQ(plan.boundary_bytes, 32769U);
  EXPECT_EQ(plan.memory().boundaries,
            BufferPool::bytes_of(32769, plan.boundaries) + BufferPool::bytes_of(10923, 4));
}

TEST(BufferPlan, GpipeKeepsFramesOfEveryMicrobatch) {
  EXPECT_EQ(OneStage({.schedule = "gpipe", .micro = 2}).plan.frames[1], 4 * 4);
}

TEST(StepBuffers, ABufferIsHeldUntilItIsReleased) {
  OneStage setup({.micro = 2});
  const Tensor x = setup.buffers.acquire(Kind::activation, 1, 0);
  EXPECT_EQ(x.shape(), (Shape{128, 64}));
  EXPECT_EQ(setup.buffers.at(Kind::activation, 1, 0).data(), x.data());
  EXPECT_NE(setup.buffers.acquire(Kind::gradient, 1, 0).data(), x.data());
  setup.buffers.release(Kind::activation, 1, 0);
  EXPECT_THROW(setup.buffers.at(Kind::activation, 1, 0), Error);
  EXPECT_EQ(setup.buffers.acquire(Kind::activation, 2, 3).data(), x.data());
}

TEST(StepBuffers, FramesHaveTheSizeOfTheirLayer) {
  OneStage setup({.micro = 2});
  const Op block{OpKind::Forward, 0, 2, 1, 0};
  const Tensor frame = setup.buffers.acquire_frame(block);
  EXPECT_EQ(frame.bytes(),
            static_cast<std::int64_t>(setup.stage.layer(0, 2).frame_bytes(setup.shape)));
  EXPECT_EQ(setup.buffers.frame(block).data(), frame.data());
  setup.buffers.release_frame(block);
  EXPECT_THROW(setup.buffers.frame(block), Error);
}

TEST(StepBuffers, APartStandsForABoundary) {
  OneStage setup({.micro = 2});
  BufferPlan plan = setup.plan;
  plan.parts = 1;
  plan.part_bytes = plan.boundary_bytes / 2;
  StepBuffers buffers(plan, setup.layout, 4, {128, 64}, DType::f32);
  const Op op{OpKind::PartitionInput, 0, 2, 1, 0};
  const Tensor part = buffers.acquire_part(op);
  EXPECT_EQ(part.bytes(), 128 * 64 * 4 / 2);
  EXPECT_EQ(buffers.part(op).data(), part.data());
  const Tensor x = buffers.acquire(Kind::activation, 2, 1);
  EXPECT_EQ(buffers.bytes_at(Kind::activation, 2, 1).data(), x.data());
  EXPECT_EQ(buffers.bytes_at(Kind::activation, 2, 1).bytes(), 2 * part.bytes());
  buffers.release_part(op);
  EXPECT_THROW(buffers.part(op), Error);
}

TEST(StepBuffers, MoreThanThePlanPromisedIsAnInternalError) {
  OneStage setup({.micro = 2});
  for (int i = 0; i < setup.plan.boundaries; ++i)
    setup.buffers.acquire(Kind::activation, i % 5, i / 5);
  EXPECT_THROW(setup.buffers.acquire(Kind::gradient, 0, 3), Error);
}

}  // namespace
}  // namespace triax::test

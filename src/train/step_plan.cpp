#include "src/train/step_plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "src/schedule/passes.hpp"
#include "src/state/parameter_block.hpp"
#include "src/train/step_buffers.hpp"

namespace triax {
namespace {

// Layers of a stage to recompute: the first `limit` transformer blocks, or all of them (0).
std::vector<std::vector<bool>> recomputed_layers(const Stage& stage, int limit) {
  int left = limit > 0 ? limit : std::numeric_limits<int>::max();
  std::vector<std::vector<bool>> marks;
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& row = marks.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer) {
      const bool mark = stage.layer(chunk, layer).recomputable() && left > 0;
      left -= mark ? 1 : 0;
      row.push_back(mark);
    }
  }
  return marks;
}

std::vector<BlockUse> block_uses(const Stage& stage) {
  std::vector<BlockUse> uses;
  for (const ParameterBlock& block : lay_out_blocks(stage, {}))
    uses.push_back(
        {block.layers(), !block.partial.empty(), block.tied && stage.place().stages > 1});
  return uses;
}

Peaks larger(const Peaks& a, const Peaks& b) {
  Peaks most = a;
  most.boundaries = std::max(a.boundaries, b.boundaries);
  most.messages = std::max(a.messages, b.messages);
  most.frames.resize(std::max(a.frames.size(), b.frames.size()), 0);
  for (std::size_t pool = 0; pool < b.frames.size(); ++pool)
    most.frames[pool] = std::max(most.frames[pool], b.frames[pool]);
  return most;
}

}  // namespace

StagePlace stage_place(const ParallelConfig& parallel, int stage, int tensor_rank) {
  return {parallel.pipeline,
          stage,
          parallel.chunks,
          {parallel.tensor, tensor_rank, parallel.sequence_parallel}};
}

PlanShape plan_shape(const Config& config) {
  const ParallelConfig& parallel = config.parallel;
  PlanShape shape;
  shape.stages = parallel.pipeline;
  shape.chunks = parallel.chunks;
  shape.microbatches = static_cast<int>(config.batch.accumulation);
  shape.data_parallel = parallel.data > 1;
  shape.shard_optimizer = config.zero_stage >= 1 && parallel.data > 1;
  for (int s = 0; s < parallel.pipeline; ++s) {
    const Stage stage(config.model, stage_place(parallel, s, 0), config.data.sequence_length);
    auto& layers = shape.layers.emplace_back();
    for (int chunk = 0; chunk < stage.chunks(); ++chunk) layers.push_back(stage.layers(chunk));
    shape.blocks.push_back(block_uses(stage));
    shape.frame_pool.push_back(frame_pools(
        stage, batch_shape(config.batch.micro, config.data.sequence_length, stage.place().tensor)));
    if (config.recompute)
      shape.recompute.push_back(recomputed_layers(stage, config.recompute_layers));
  }
  return shape;
}

StepPlans step_plans(const Config& config) {
  StepPlans plans;
  plans.shape = plan_shape(config);
  try {
    plans.training = training_plans(config.parallel.schedule, plans.shape);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("schedule \"{}\" does not fit the job", config.parallel.schedule),
                     error.what());
  }
  plans.peaks = verify(plans.training, plans.shape, PlanUse::training);
  if (config.data.valid.empty()) return plans;
  plans.evaluation = evaluation_plans(plans.shape);
  const std::vector<Peaks> evaluation = verify(plans.evaluation, plans.shape, PlanUse::evaluation);
  for (std::size_t s = 0; s < evaluation.size(); ++s)
    plans.peaks[s] = larger(plans.peaks[s], evaluation[s]);
  return plans;
}

}  // namespace triax

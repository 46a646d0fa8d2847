// SPDX-License-Identifier: Apache-2.0
#include "src/plan/step_plan.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "src/config/preference.hpp"
#include "src/model/stage/trained_parameters.hpp"
#include "src/plan/layer_pools.hpp"
#include "src/schedule/passes/passes.hpp"
#include "src/schedule/schedules.hpp"
#include "src/state/optimizer/packed_states.hpp"

namespace triax {
namespace {

std::vector<std::vector<bool>> recomputed_layers(const Stage& stage) {
  std::vector<std::vector<bool>> marks;
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& row = marks.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer)
      row.push_back(stage.layer(chunk, layer).recomputed());
  }
  return marks;
}

// Layers of a bucket, each once, with the union of what its parameters need.
std::vector<LayerUse> layer_uses(const ParameterBlock& block) {
  std::vector<LayerUse> layers;
  for (const PlacedParameter& param : block.params)
    for (const ParameterUse& use : param.uses) {
      auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerUse& layer) {
        return layer.chunk == use.chunk && layer.layer == use.layer;
      });
      if (found == layers.end()) found = layers.insert(found, {use.chunk, use.layer, false, false});
      found->writes_forward |= use.written_in_forward;
      found->reads_backward |= use.read_in_backward;
    }
  return layers;
}

Residence residence(const ParameterBlock& block) {
  if (!block.sharded()) return Residence::whole;
  if (!block.stored()) return Residence::sharded;
  const bool stepped_there = block.home == ParameterHome::host && block.host_state;
  return stepped_there ? Residence::stepped_in_store : Residence::stored;
}

// Limit on gathered elements beside compute: at most the largest bucket, so that a small model does
// not end up whole on every rank.
void set_limits(PlanShape& shape, const ZeroConfig& zero, const DataShard& data) {
  std::int64_t largest = 0, largest_trained = 0;
  for (const auto& stage : shape.blocks)
    for (const BlockUse& block : stage)
      if (data.zero_stage < 3 || block.parameters != Residence::whole) {
        largest = std::max(largest, block.elements);
        if (block.trained) largest_trained = std::max(largest_trained, block.elements);
      }
  if (zero.overlap) {
    shape.reduce_ahead = std::min(zero.reduce_bucket_size, largest_trained);
    shape.gather_ahead = zero.limit_gathers ? std::min(zero.prefetch_bucket_size, largest)
                                            : zero.prefetch_bucket_size;
  } else if (data.zero_stage >= 2) {
    shape.reduce_ahead = 0;
  }
  shape.update_ahead = zero.allgather_bucket_size;
  shape.gathered_limit = zero.max_live_parameters;
  shape.state_buffers = zero.offload_optimizer.buffers;
  shape.fetch_ahead = zero.offload_optimizer.pipeline_read;
  shape.store_behind = zero.offload_optimizer.pipeline_write;
  shape.shard_buffers = zero.offload_param.pipeline_read ? zero.offload_param.buffers : 0;
  shape.save_behind = zero.offload_param.pipeline_write;
  // The buffers hold shards, the plan counts whole blocks.
  const std::int64_t shards = std::int64_t{zero.offload_param.buffers} * data.size;
  shape.shard_limit = shards * std::min(zero.offload_param.buffer_size, shape.shard_limit / shards);
}

std::vector<int> larger(std::vector<int> a, const std::vector<int>& b) {
  a.resize(std::max(a.size(), b.size()), 0);
  for (std::size_t pool = 0; pool < b.size(); ++pool) a[pool] = std::max(a[pool], b[pool]);
  return a;
}

Peaks larger(const Peaks& a, const Peaks& b) {
  return {std::max(a.boundaries, b.boundaries), larger(a.frames, b.frames),
          larger(a.gradients, b.gradients),     larger(a.gathered, b.gathered),
          std::max(a.states, b.states),         larger(a.shards, b.shards),
          std::max(a.parts, b.parts),           std::max(a.inputs, b.inputs)};
}

// In a run on the CPU, parameters offloaded to host memory are where they would be anyway.
void set_parameters(StateOffload& offload, const OffloadParamConfig& config) {
  const bool disk = config.device == OffloadDevice::nvme;
  offload.parameters = disk || (offload.of_device && config.device == OffloadDevice::cpu);
  offload.parameter_share = config.ratio;
  const std::int64_t in_cpu = disk ? config.max_in_cpu : std::numeric_limits<std::int64_t>::max();
  (offload.of_device ? offload.host_parameters : offload.kept_parameters) = in_cpu;
}

}  // namespace

StagePlace stage_place(const ParallelConfig& parallel, int stage, int tensor_rank) {
  return {parallel.pipeline,
          stage,
          parallel.chunks,
          {parallel.tensor, tensor_rank, parallel.sequence_parallel},
          parallel.stage_layers};
}

Stage make_stage(const PlacedConfig& config, int stage, int tensor_rank, StageUse use,
                 DeviceArena* arena) {
  return {config.model,
          stage_place(config.parallel, stage, tensor_rank),
          config.data.sequence_length,
          config.recompute,
          use,
          {config.place.space, arena}};
}

BatchShape batch_shape(const PlacedConfig& config, const TensorShard& shard) {
  BatchShape shape =
      batch_shape(config.batch.micro * config.data.rows_per_sample, config.data.sequence_length,
                  shard, config.precision.type, config.precision.gradient_type, config.place.space);
  shape.fp8 = config.precision.fp8;
  shape.documents = config.data.mask_documents;
  shape.pairs = preference_loss(config) != nullptr;
  return shape;
}

DataShard data_shard(const PlacedConfig& config, int data_rank) {
  const ZeroConfig& zero = config.zero;
  StateOffload offload;
  // An optimizer without state has nothing to offload.
  const std::vector<StateKind> states = states_of(config.optimizer);
  const bool has_state = config.precision.type != DType::f32 || !states.empty();
  if (has_state && zero.offload_optimizer.device == OffloadDevice::nvme)
    offload.optimizer_share = zero.offload_optimizer.ratio;
  offload.part_elements = std::min(offload.part_elements, zero.offload_optimizer.part);
  offload.of_device = config.place.space == MemorySpace::device;
  if (has_state && offload.of_device && zero.offload_optimizer.device == OffloadDevice::cpu)
    offload.host_share = zero.offload_optimizer.ratio;
  set_parameters(offload, zero.offload_param);
  const int ranks = config.parallel.data;
  const int group = shard_size(config);
  const int size = zero.stage >= 1 && group > 0 ? group : ranks;
  const std::int64_t threshold = zero.stage == 3 ? zero.persistence_threshold : 0;
  // One rank has nothing to cut, but offloaded parameters are gathered from their location. The
  // layout is the same either way, so no sum changes.
  const bool apart = optimizer_rule(config.optimizer.type).matrices != nullptr;
  const bool alone = size == 1 && !offload.parameters;
  if (alone)
    return {.size = ranks,
            .rank = data_rank,
            .persistence_threshold = threshold,
            .offload = offload,
            .alignment = state_alignment(states),
            .matrices_apart = apart};
  return {.size = size,
          .rank = data_rank % size,
          .group = data_rank / size,
          .groups = ranks / size,
          .zero_stage = zero.stage,
          .persistence_threshold = threshold,
          .gather_limit = zero.allgather_bucket_size,
          .offload = offload,
          .alignment = state_alignment(states),
          .matrices_apart = apart};
}

StateOptions state_options(const PlacedConfig& config, int data_rank) {
  return {.shard = data_shard(config, data_rank),
          .type = config.precision.type,
          .gradient_type = config.precision.gradient_type,
          .space = config.place.space};
}

// Buckets of equal size share buffers for gathered parameters and whole gradients.
std::vector<BlockUse> block_uses(const Stage& stage, const DataShard& data) {
  std::vector<BlockUse> uses;
  std::vector<std::int64_t> sizes;  // of the pools
  for (const ParameterBlock& block : lay_out_blocks(stage, data)) {
    const auto pool = std::find(sizes.begin(), sizes.end(), block.elements);
    uses.push_back({.layers = layer_uses(block),
                    .trained = block.trained,
                    .tensor_sum = !block.partial.empty(),
                    .tied = block.trained && block.content == BlockContent::tied_embedding &&
                            stage.place().stages > 1,
                    .orthogonal = block.matrices,
                    .parameters = residence(block),
                    .elements = block.elements,
                    .pool = static_cast<int>(pool - sizes.begin()),
                    .parts = static_cast<int>(block.parts.size()),
                    .kept_parts = block.kept_parts,
                    .gather_piece = block.gather_piece});
    if (pool == sizes.end()) sizes.push_back(block.elements);
  }
  return uses;
}

namespace {

// First layer of the stage with a trained parameter; none: the value of `unless`.
ModelLayer first_trained(const Stage& stage, ModelLayer unless) {
  for (int chunk = 0; chunk < stage.chunks(); ++chunk)
    for (int layer = 0; layer < stage.layers(chunk); ++layer)
      if (std::ranges::any_of(stage.layer(chunk, layer).params(), &ParameterSpec::trained))
        return std::min(unless, {chunk * stage.place().stages + stage.place().stage, layer});
  return unless;
}

}  // namespace

PlanShape plan_shape(const PlacedConfig& config) {
  const ParallelConfig& parallel = config.parallel;
  PlanShape shape;
  shape.stages = parallel.pipeline;
  shape.chunks = parallel.chunks;
  shape.microbatches = static_cast<int>(config.batch.accumulation);
  shape.matching = config.place.by_nccl() ? MessageMatching::by_order : MessageMatching::by_tag;
  const DataShard data = data_shard(config, 0);
  shape.data_parallel = data.size > 1;
  shape.zero = static_cast<ZeroStage>(data.zero_stage);
  shape.replicas = data.groups > 1;
  shape.first_trained = {std::numeric_limits<int>::max(), 0};
  shape.order = parallel.compute_order;
  const bool splits = schedule(parallel.schedule, parallel.compute_order).splits_backward;
  for (int s = 0; s < parallel.pipeline; ++s) {
    const Stage stage = make_stage(config, s, 0, StageUse::plan);
    auto& layers = shape.layers.emplace_back();
    for (int chunk = 0; chunk < stage.chunks(); ++chunk) layers.push_back(stage.layers(chunk));
    shape.blocks.push_back(block_uses(stage, data));
    shape.first_trained = first_trained(stage, shape.first_trained);
    const BatchShape batch = batch_shape(config, stage.place().tensor);
    shape.frame_pool.push_back(frame_pools(stage, batch));
    if (splits) shape.operand_pool.push_back(operand_pools(stage, batch, shape.frame_pool.back()));
    if (config.recompute.what == Recompute::layer)
      shape.recompute.push_back(recomputed_layers(stage));
  }
  // Sequence parallelism cuts them already.
  shape.partition_inputs =
      config.recompute.partition_inputs && parallel.tensor > 1 && !parallel.sequence_parallel;
  shape.offload_inputs =
      config.recompute.inputs_on_host && config.place.space == MemorySpace::device;
  set_limits(shape, config.zero, data);
  return shape;
}

WholeBuffers whole_buffers(const StepPlans& plans, std::size_t stage) {
  const Peaks& peaks = plans.peaks[stage];
  WholeBuffers whole{{}, peaks.gradients, peaks.gathered, peaks.shards};
  for (const BlockUse& block : plans.shape.blocks[stage]) whole.pool.push_back(block.pool);
  return whole;
}

StateBuffers state_buffers(const StepPlans& plans, std::size_t stage) {
  return {.count = std::max(1, plans.peaks[stage].states)};
}

namespace {

void check_optimizer(const PlacedConfig& config) {
  const DataShard shard = data_shard(config, 0);
  const bool hosted = shard.offload.host_share > 0.0 || shard.offload.optimizer_share > 0.0;
  if (!shard.matrices_apart || !shard.offload.of_device || !hosted) return;
  throw UsageError(
      fmt::format("{} cannot step matrices whose state is not on the GPU", config.optimizer.type),
      "their directions are computed there",
      "Leave out zero_optimization.offload_optimizer, or take another optimizer.type");
}

// The plans that passes make of a named schedule are right; an order by hand may be one that they
// were not written for.
std::vector<Peaks> verify_training(const StepPlans& plans, const ParallelConfig& parallel) {
  try {
    return verify(plans.training, plans.shape, PlanUse::training);
  } catch (const std::logic_error& error) {
    if (parallel.compute_order.empty()) throw;
    throw UsageError(fmt::format("the plan of schedule \"{}\" does not run", parallel.schedule),
                     error.what(), "Change the order, or take a schedule of triax");
  }
}

}  // namespace

bool validates(const Config& config) {
  return !config.data.valid.empty() || config.run.eval_interval > 0;
}

bool runs_evaluations(const Config& config) {
  return validates(config) || needs_reference(config);
}

StepPlans step_plans(const PlacedConfig& config) {
  check_trainability(config.model);
  check_optimizer(config);
  StepPlans plans;
  plans.shape = plan_shape(config);
  try {
    plans.training = training_plans(config.parallel.schedule, plans.shape);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("schedule \"{}\" does not fit the job", config.parallel.schedule),
                     error.what());
  }
  plans.peaks = verify_training(plans, config.parallel);
  if (!runs_evaluations(config)) return plans;
  plans.evaluation = evaluation_plans(plans.shape);
  const std::vector<Peaks> evaluation = verify(plans.evaluation, plans.shape, PlanUse::evaluation);
  for (std::size_t s = 0; s < evaluation.size(); ++s)
    plans.peaks[s] = larger(plans.peaks[s], evaluation[s]);
  return plans;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_plan.hpp"

#include <algorithm>
#include <set>

#include "io/checkpoint/load/checkpoint_loader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/config/preference.hpp"
#include "src/executor/batch_loader.hpp"
#include "src/executor/executor.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "src/plan/step_plan.hpp"
#include "src/state/optimizer/packed_states.hpp"
#include "src/state/weights/initial_weights.hpp"

namespace triax {
namespace {

std::int64_t op_bytes(const Plan& plan) {
  return std::ssize(plan) * static_cast<std::int64_t>(sizeof(Op));
}

BufferPlan buffer_plan(const PlacedConfig& config, const StepPlans& plans, const Stage& stage) {
  const auto index = static_cast<std::size_t>(stage.place().stage);
  return plan_buffers(stage, batch_shape(config, stage.place().tensor), config.model.hidden,
                      plans.peaks[index], plans.shape);
}

// Largest number of inputs of recomputed layers that a stage keeps at once, each from the layer's
// forward pass to its recomputation.
std::int64_t kept_inputs(const StepPlans& plans, int stage) {
  std::int64_t kept = 0, most = 0;
  for (const Op& op : plans.training[static_cast<std::size_t>(stage)]) {
    if (!plans.shape.keeps_input(stage, op.chunk, op.layer)) continue;
    if (op.kind == OpKind::DropFrame) most = std::max(most, ++kept);
    if (op.kind == OpKind::Recompute) --kept;
  }
  return most;
}

// Bytes shown as offloaded to the host in a run on the CPU, where everything is in host memory
// already: a matter of naming, without instructions in the plan. For a run on a GPU, host memory is
// what its plans and stores allocate there.
KindBytes named_host(const PlacedConfig& config, const StepPlans& plans, const Stage& stage,
                     const std::vector<ParameterBlock>& blocks, const Allocations& allocations) {
  KindBytes host;
  if (config.recompute.inputs_on_host)
    host.activations = kept_inputs(plans, stage.place().stage) *
                       static_cast<std::int64_t>(buffer_plan(config, plans, stage).input_bytes());
  if (const auto& offload = config.zero.offload_optimizer; offload.device == OffloadDevice::cpu) {
    const auto share = [&](std::int64_t bytes) {
      return static_cast<std::int64_t>(offload.ratio * static_cast<double>(bytes));
    };
    host.optimizer = share(allocations.optimizer.moments);
    host.master = share(allocations.optimizer.master);
  }
  if (config.zero.offload_param.device == OffloadDevice::cpu)
    for (const ParameterBlock& block : blocks)
      if (block.content != BlockContent::small_parameters)
        host.parameters +=
            block.parameters.count() * static_cast<std::int64_t>(size_of(config.precision.type));
  return host;
}

// Buffers that sums allocate: the maximum over the first and the last two data ranks. Under ZeRO-2
// and ZeRO-3 a data rank sums over the tensor axis only the gradients it keeps. Tensor-partial
// gradients lie at the end of a bucket, so the last ranks have the most, except for padding (which
// fills more than one rank only in buckets of a few elements).
std::int64_t bytes_of_sums(const PlacedConfig& config, const Stage& stage, const Plan& plan) {
  std::uint64_t most = 0;
  const int last = config.parallel.data - 1;
  for (const int rank : std::set<int>{0, std::max(last - 1, 0), last}) {
    const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, rank));
    const OpMessages messages(config, stage, blocks);
    most = std::max(most, messages.peak_scratch(plan) + messages.held(plan));
  }
  return static_cast<std::int64_t>(most);
}

}  // namespace

RankMemory rank_memory(const PlacedConfig& config, const StepPlans& plans, int stage_index,
                       int tensor_rank, std::int64_t program) {
  const Stage stage = make_stage(config, stage_index, tensor_rank, StageUse::plan);
  const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  const Allocations allocations = planned_allocations(config, plans, stage);
  RankMemory memory;
  memory.nvme = stored_by_kind(allocations);
  memory.space = allocations.space;
  const Plan& plan = plans.training[static_cast<std::size_t>(stage_index)];
  const std::int64_t slots = shared_slot_bytes(config);
  const std::int64_t sums = bytes_of_sums(config, stage, plan);
  if (memory.space == MemorySpace::host) {
    memory.host = named_host(config, plans, stage, blocks, allocations);
    memory.device = by_kind(allocations, program);
    memory.device -= memory.host;
    memory.device.communication = sums + slots;
    return memory;
  }
  memory.device = on_gpu_by_kind(allocations);
  memory.host = by_kind(allocations, program);
  memory.host -= memory.device;
  memory.device.buffers += cuda_reserve;
  if (config.place.staged_messages) {
    const OpMessages messages(config, stage, blocks);
    memory.host.communication =
        sums + slots + static_cast<std::int64_t>(messages.peak_staged(plan));
  } else {
    memory.device.communication = nccl_bytes(config);
  }
  return memory;
}

int nccl_groups(const PlacedConfig& config) {
  const ParallelConfig& parallel = config.parallel;
  int groups = 0;
  for (const int size : {parallel.data, parallel.pipeline, parallel.tensor}) groups += size > 1;
  if (groups > 0) ++groups;                           // world
  if (parallel.pipeline > 1) ++groups;                // embedding
  if (data_shard(config, 0).groups > 1) groups += 2;  // shard group, and across shard groups
  if (SharingGroups(config).same_heads.ranks > 1) ++groups;
  return groups;
}

// The world group sums a few numbers and does not use NVLS. A tensor group is on one node. If nodes
// are unknown (dry runs), all ranks are on one.
std::int64_t nccl_bytes(const PlacedConfig& config) {
  const int data = config.place.data_ranks_of_node, tensor = config.parallel.tensor;
  const DataShard shard = data_shard(config, 0);
  std::vector<int> on_a_node = {data, tensor, SharingGroups(config).same_heads.ranks};
  if (shard.groups > 1)
    on_a_node.insert(on_a_node.end(), {std::min(shard.size, data), data / shard.size});
  // A stage has messages with the previous and the next one; with two stages there is one
  // neighbour.
  const int neighbours = std::min(config.parallel.pipeline - 1, 2);
  std::int64_t bytes = nccl_groups(config) * nccl_reserve + neighbours * nccl_peer_reserve;
  for (const int ranks : on_a_node)
    if (ranks > 2) bytes += std::min(ranks, most_nvls_ranks) * nvls_reserve;
  return bytes;
}

Allocations planned_allocations(const PlacedConfig& config, const StepPlans& plans,
                                const Stage& stage) {
  const auto index = static_cast<std::size_t>(stage.place().stage);
  const BatchShape shape = batch_shape(config, stage.place().tensor);
  const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  Allocations allocations;
  allocations.state = state_bytes(blocks, state_options(config, 0), whole_buffers(plans, index));
  const std::vector<StateKind> states = states_of(config.optimizer);
  allocations.optimizer =
      optimizer_bytes(blocks, states, state_options(config, 0), state_buffers(plans, index));
  allocations.step = buffer_plan(config, plans, stage).memory();
  allocations.space = config.place.space;
  allocations.batches = batch_bytes(config, shape);
  allocations.tables = stage.table_bytes();
  allocations.numbers = number_bytes(config);
  allocations.plans = plan_bytes(plans);
  allocations.staging = staging_of(config, blocks);
  if (takes_copy(config))
    allocations.snapshot = snapshot_bytes(blocks, config.precision.type, states);
  return allocations;
}

std::int64_t batch_bytes(const Config& config, const BatchShape& shape) {
  const int loaders = validates(config) ? 2 : 1;
  return loaders * DeviceArena::footprint(BatchLoader::bytes_of(config.batch, shape));
}

std::int64_t number_bytes(const Config& config) {
  const int executors = 1 + (validates(config) ? 1 : 0) + (needs_reference(config) ? 1 : 0);
  return StepVerdict::bytes() + FiniteTest::bytes() + executors * Executor::bytes();
}

std::int64_t plan_bytes(const StepPlans& plans) {
  std::int64_t bytes = 0;
  for (const Plans* all : {&plans.training, &plans.evaluation})
    for (const Plan& plan : *all) bytes += op_bytes(plan);
  return bytes;
}

namespace {

// Bytes that the first checkpoint, written or read, adds permanently to rank 0's memory beside its
// buffers: code of the HDF5 library (3 MiB) and its heap (3 MiB). Other ranks need less than 1 MiB
// and are planned alike.
constexpr std::int64_t structure_bytes = std::int64_t{6} << 20;

// Upper bound of a rank's bytes in a checkpoint: weights, and of trained ones master weights, as
// float32, and optimizer states.
std::int64_t saved_bytes(const std::vector<ParameterBlock>& blocks,
                         const std::vector<StateKind>& states) {
  constexpr auto of_a_weight = std::int64_t{sizeof(float)};
  std::int64_t bytes = 0;
  for (const ParameterBlock& block : blocks) {
    if (!block.saved) continue;
    std::int64_t of_an_element = of_a_weight;
    if (block.trained) of_an_element += of_a_weight;  // master
    for (const StateKind& state : states)
      if (block.trained && has_state(state, block))
        of_an_element += static_cast<std::int64_t>(size_of(state.saved_type()));
    bytes += block.elements * of_an_element;
  }
  return bytes;
}

}  // namespace

std::int64_t staging_of(const PlacedConfig& config, const std::vector<ParameterBlock>& blocks) {
  const std::vector<StateKind> states = states_of(config.optimizer);
  const std::int64_t saved = saved_bytes(blocks, states);
  std::int64_t checkpoints = independent_bytes_of(saved);
  if (config.checkpoint.collective) checkpoints += collective_bytes + collective_library_bytes;
  const bool resumes = config.checkpoint.resume != "never";
  // Chunks of a file under way: at most what a rank needs, and less if the idle step buffers hold
  // them (StepBuffers::idle_memory).
  if (resumes) checkpoints = std::max(checkpoints, std::min(loading_bytes_at_once, saved));
  if (resumes || writes_checkpoints(config.checkpoint)) checkpoints += structure_bytes;
  checkpoints += staging_bytes(blocks, config.precision.type, config.place.space, states);
  if (config.model.weights.empty()) return checkpoints;
  return std::max(checkpoints,
                  loading_bytes(config.model, config.precision.type, config.place.space));
}

MemoryPlan::MemoryPlan(const PlacedConfig& config, const StepPlans& plans, std::int64_t program)
    : grid_(grid_shape(config.parallel)) {
  for (int stage = 0; stage < grid_.pipeline; ++stage)
    for (int rank = 0; rank < grid_.tensor; ++rank)
      places_.push_back(rank_memory(config, plans, stage, rank, program));
}

const RankMemory& MemoryPlan::of(int rank) const {
  return places_[static_cast<std::size_t>(stage_of(rank) * grid_.tensor +
                                          grid_.coordinate(rank, Axis::tensor))];
}

int MemoryPlan::fullest() const {
  int most = 0;
  for (int rank = 1; rank < grid_.size(); ++rank)
    if (of(rank).scarce().total() > of(most).scarce().total()) most = rank;
  return most;
}

std::vector<int> MemoryPlan::fullest_node(int ranks_per_node) const {
  std::int64_t most = -1;
  std::vector<int> fullest;
  for (int first = 0; first < grid_.size(); first += ranks_per_node) {
    std::vector<int> ranks;
    std::int64_t bytes = 0;
    for (int rank = first; rank < std::min(first + ranks_per_node, grid_.size()); ++rank) {
      ranks.push_back(rank);
      bytes += of(rank).resident();
    }
    if (bytes > most) fullest = std::move(ranks);
    most = std::max(most, bytes);
  }
  return fullest;
}

}  // namespace triax

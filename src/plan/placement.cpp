// SPDX-License-Identifier: Apache-2.0
#include "src/plan/placement.hpp"

#include <vector>

#include "kernels/base/device/device.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/version/build_facts.hpp"

namespace triax {
namespace {

constexpr std::size_t index(Axis axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace

GridShape grid_shape(const ParallelConfig& parallel) {
  return {parallel.data, parallel.pipeline, parallel.tensor, parse_axis_order(parallel.order),
          parallel.tensor_across_nodes};
}

int shard_size(const PlacedConfig& config) {
  return config.zero.shard_size < 0 ? config.place.data_ranks_of_node : config.zero.shard_size;
}

bool takes_copy(const PlacedConfig& config) {
  const AsyncWrites async = config.checkpoint.async;
  return async == AsyncWrites::on ||
         (async == AsyncWrites::where_it_fits && config.place.copy_fits);
}

namespace {

// UsageError for what is not built for GPUs.
void check_space(const Config& config, MemorySpace space) {
  if (space == MemorySpace::host) return;
  if (config.model.lora.dora)
    throw UsageError("lora.use_dora is not built for GPUs yet",
                     "norms of weights are computed on CPUs alone",
                     "Leave lora.use_dora out, or compute on CPUs: run.device cpu, triax plan "
                     "--machine cpu");
  if (!config.model.kept) return;
  throw UsageError("model.quantize is not built for GPUs yet",
                   "products of weights in few bits run on CPUs alone",
                   "Set model.quantize to none (the weights are decoded as they are loaded), or "
                   "compute on CPUs: run.device cpu, triax plan --machine cpu");
}

}  // namespace

PlacedConfig on_grid(const Config& config, const ProcessGrid& grid) {
  Placement place;
  place.space = grid.space();
  check_space(config, place.space);
  place.staged_messages = grid.stages_messages();
  for (const Axis axis : all_axes) place.ranks_sharing[index(axis)] = grid.ranks_sharing(axis);
  place.data_ranks_of_node = grid.run_within_node(Axis::data);
  return {config, place};
}

PlacedConfig on_nodes(const Config& config, int ranks_per_node) {
  const GridShape shape = grid_shape(config.parallel);
  std::vector<int> node_of_rank(static_cast<std::size_t>(shape.size()), 0);
  if (ranks_per_node > 0)
    for (int rank = 0; rank < shape.size(); ++rank)
      node_of_rank[static_cast<std::size_t>(rank)] = rank / ranks_per_node;
  check_tensor_inside_nodes(shape, node_of_rank);
  Placement place;
  // A driver that is not asked cannot fail.
  place.space = config.run.space     ? *config.run.space
                : device_count() > 0 ? MemorySpace::device
                                     : MemorySpace::host;
  check_space(config, place.space);
  // Ranks are taken to have a GPU each; a build without GPU code plans for one with NCCL.
  place.staged_messages = place.space == MemorySpace::host || (built_for_gpus() && !has_nccl());
  for (const Axis axis : all_axes)
    place.ranks_sharing[index(axis)] = run_within_node(shape, axis, node_of_rank);
  place.data_ranks_of_node = run_within_node(shape, Axis::data, node_of_rank);
  return {config, place};
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about the grid and nodes of a job that no job file states. Plan and run must agree on them.
#include <array>

#include "src/comm/grid/grid_shape.hpp"
#include "src/config/config.hpp"

namespace triax {

class ProcessGrid;

/// Facts about a grid of ranks, found on it or assumed for a plan.
struct Placement {
  /// Memory space of tensors and kernels.
  MemorySpace space = MemorySpace::host;
  /// Messages of GPU memory go through host memory (ProcessGrid::stages_messages); otherwise NCCL
  /// carries them.
  bool staged_messages = true;
  bool by_nccl() const { return space == MemorySpace::device && !staged_messages; }
  /// Neighbours along the data, pipeline and tensor axis that share memory, through which large
  /// messages go (ProcessGrid::ranks_sharing).
  std::array<int, 3> ranks_sharing{1, 1, 1};
  /// Data ranks per node, for zero.shard_size -1 (hybrid sharding).
  int data_ranks_of_node = 1;
  /// A copy of the state fits in memory; decides checkpoint.async "auto".
  bool copy_fits = true;
};

/// Settings of a job, as its user gave them, and its placement.
struct PlacedConfig : Config {
  Placement place;
};

/// The grid of a job's ranks.
GridShape grid_shape(const ParallelConfig& parallel);

/// Data ranks that share one copy of what ZeRO cuts; 0: all of them.
int shard_size(const PlacedConfig& config);
/// Whether a copy of the state is kept, to write checkpoints from while training goes on.
bool takes_copy(const PlacedConfig& config);

/// Placement of the job on a grid, as the grid found it.
PlacedConfig on_grid(const Config& config, const ProcessGrid& grid);

/// Placement without a grid, for nodes of `ranks_per_node` ranks each; 0: all ranks on one node.
/// Takes GPUs if this machine has one and the job does not say otherwise. UsageError where a tensor
/// group would span nodes.
PlacedConfig on_nodes(const Config& config, int ranks_per_node);

}  // namespace triax

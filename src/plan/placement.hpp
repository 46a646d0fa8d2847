#pragma once
// Where a job runs: what no job file says, and plan and run must agree on.
#include <array>

#include "src/comm/grid/grid_shape.hpp"
#include "src/config/config.hpp"

namespace triax {

class ProcessGrid;

/// What only a grid of ranks, or what is assumed of one, can tell.
struct Placement {
  /// Where tensors live and are computed.
  MemorySpace space = MemorySpace::host;
  /// Messages of a GPU's memory go through the host's (ProcessGrid::stages_messages), else by NCCL.
  bool staged_messages = true;
  bool by_nccl() const { return space == MemorySpace::device && !staged_messages; }
  /// How many neighbours along the data, pipeline and tensor axis share memory, which large
  /// messages go through (ProcessGrid::ranks_sharing).
  std::array<int, 3> ranks_sharing{1, 1, 1};
  /// Neighbours along the data axis that every node has, for zero.shard_size -1.
  int data_ranks_of_node = 1;
  /// There is memory for a copy of the state, for checkpoint.async "auto".
  bool copy_fits = true;
};

/// A job's settings, as its user gave them, and where it runs.
struct PlacedConfig : Config {
  Placement place;
};

/// The grid of a job's ranks.
GridShape grid_shape(const ParallelConfig& parallel);

/// Data ranks that share one copy of what ZeRO cuts; 0: all of them.
int shard_size(const PlacedConfig& config);
/// Whether a copy of the state is kept, to write checkpoints from while training goes on.
bool takes_copy(const PlacedConfig& config);

/// On a grid: what is known of it.
PlacedConfig on_grid(const Config& config, const ProcessGrid& grid);

/// The same without a grid, for nodes of `ranks_per_node` ranks each; 0: all ranks on one node. On
/// GPUs where the job does not say otherwise and this machine has one.
/// UsageError where a tensor group would span nodes.
PlacedConfig on_nodes(const Config& config, int ranks_per_node);

}  // namespace triax

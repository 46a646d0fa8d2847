#pragma once
// What of a rank's blocks the optimizer counts in the norm, and where their state is: in memory or
// stored, on the host or a device. Internal to Optimizer and its bytes.
#include <cstdint>
#include <vector>

#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// What this rank counts in the norm: its own part of the tensors that it owns. The pieces of one
/// tensor may alternate row by row (GPT-2's q, k and v): joined, they are one run again.
std::vector<FlatRange> counted_ranges(const ParameterBlock& block);

/// What this rank steps, in the order of memory: neighbours that touch and decay alike in one run,
/// or each parameter `apart`.
std::vector<SteppedRun> stepped_runs(const ParameterBlock& block, bool apart);

/// Whether state on the host belongs to parameters of a device.
bool steps_on_host(const std::vector<ParameterBlock>& blocks, MemorySpace space);

/// Of the state that is not kept in memory: a dataset a block and kind of state, a unit a part.
struct StoredState {
  std::vector<OffloadDataset> datasets;
  std::vector<OffloadUnit> units;
  std::vector<int> first_unit;  // by block
};
StoredState stored_state(const std::vector<ParameterBlock>& blocks, bool has_master);

/// Both moments and the master copy take as much each of `stored`.
void set_stored(OptimizerBytes& bytes, std::int64_t stored, bool has_master);

}  // namespace triax

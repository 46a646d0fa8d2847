// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges of a rank's buckets that the norm counts and a step updates, and the location of their
// state. Internal to Optimizer and optimizer_bytes().
#include <cstdint>
#include <vector>

#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Ranges this rank counts in the norm: its own shard of the trained tensors it owns. Pieces of one
/// tensor may alternate row by row (GPT-2's q, k and v); merged, they are one range again.
std::vector<FlatRange> counted_ranges(const ParameterBlock& block);

/// Ranges this rank steps, in memory order. Adjacent tensors with the same options form one range,
/// unless `apart`: then no range holds elements of two parameters.
std::vector<SteppedRun> stepped_runs(const ParameterBlock& block, const OptimizerConfig& config,
                                     bool apart, const TensorStarts& starts = {});

/// True if the host steps parameters of a device: their state is on the host or in a store.
bool steps_on_host(const std::vector<ParameterBlock>& blocks, MemorySpace space);

/// Layout of state that is not kept in memory: one dataset per bucket and kind of state that it has
/// (of `states`, then master), one unit per sub-group.
struct StoredState {
  std::vector<OffloadDataset> datasets;
  std::vector<OffloadUnit> units;
  std::vector<int> first_unit;  // by bucket
};
StoredState stored_state(const std::vector<ParameterBlock>& blocks,
                         const std::vector<StateKind>& states, bool has_master);

/// Sets the stored bytes of `datasets`: those of master copies, and the others.
void set_stored(OptimizerBytes& bytes, const std::vector<OffloadDataset>& datasets);

}  // namespace triax

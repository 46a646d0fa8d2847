// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges of a rank's buckets that the norm counts and a step updates, and the location of their
// state. Internal to Optimizer and optimizer_bytes().
#include <cstdint>
#include <vector>

#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Ranges this rank counts in the norm: its own shard of the tensors it owns. Pieces of one tensor
/// may alternate row by row (GPT-2's q, k and v); merged, they are one range again.
std::vector<FlatRange> counted_ranges(const ParameterBlock& block);

/// Ranges this rank steps, in memory order. Adjacent parameters with the same decay form one range,
/// unless `apart`: then each parameter is its own.
std::vector<SteppedRun> stepped_runs(const ParameterBlock& block, bool apart);

/// True if the host steps parameters of a device: their state is on the host or in a store.
bool steps_on_host(const std::vector<ParameterBlock>& blocks, MemorySpace space);

/// Layout of state that is not kept in memory: one dataset per bucket and kind of state (moments,
/// master), one unit per sub-group.
struct StoredState {
  std::vector<OffloadDataset> datasets;
  std::vector<OffloadUnit> units;
  std::vector<int> first_unit;  // by bucket
};
StoredState stored_state(const std::vector<ParameterBlock>& blocks, bool has_master);

/// Splits `stored` bytes: a third each for the two moments and the master copy; all to the moments
/// without one.
void set_stored(OptimizerBytes& bytes, std::int64_t stored, bool has_master);

}  // namespace triax

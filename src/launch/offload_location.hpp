// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of this rank's offloaded state, and the log lines about them.
#include "src/comm/grid/process_grid.hpp"
#include "src/plan/step_plan.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Storage options of this rank's parameters and gradients, with the offload file for parameters on
/// a disk. Each rank and each run.directory has a file of its own.
StateOptions parameters_on(const ProcessGrid& grid, const PlacedConfig& config);

/// Storage options of this rank's optimizer state, with its offload file.
StateBuffers optimizer_on(const ProcessGrid& grid, const Config& config, const StepPlans& plans);

/// Removes the offload files that a killed run in the same run.directory left, whatever its grid;
/// the first rank of each node does it. Collective; called before any file is created.
void remove_left_offload(const ProcessGrid& grid, const Config& config);
/// Removes this rank's offload files, for a process that ends without running destructors.
void remove_own_offload(const ProcessGrid& grid, const Config& config);

/// Logs one line per offloaded part of the state.
void log_offload(const PlacedConfig& config, const Optimizer& optimizer,
                 const ParameterStore& store);

}  // namespace triax

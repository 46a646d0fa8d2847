// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a job's offloaded state goes on this rank, and what is said of it.
#include "src/comm/grid/process_grid.hpp"
#include "src/plan/step_plan.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// How this rank keeps parameters and gradients, with the file of what goes to a disk: one for this
/// rank alone; runs of another run.directory have others.
StateOptions parameters_on(const ProcessGrid& grid, const PlacedConfig& config);

/// The same of the optimizer's state.
StateBuffers optimizer_on(const ProcessGrid& grid, const Config& config, const StepPlans& plans);

/// Removes what a killed run of the same run.directory left of these files, on whatever grid it
/// ran: the first rank of each node does. Collective, before any is made.
void remove_left_offload(const ProcessGrid& grid, const Config& config);
/// Removes the files that this rank has open, for a process that ends without its destructors.
void remove_own_offload(const ProcessGrid& grid, const Config& config);

/// A line each for what is offloaded.
void announce_offload(const PlacedConfig& config, const Optimizer& optimizer,
                      const ParameterStore& store);

}  // namespace triax

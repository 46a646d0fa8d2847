// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of a run whose job gives run.epochs.
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"
#include "src/plan/placement.hpp"

namespace triax {

/// Collective. Derives run.steps, and all that depends on it, from the samples of data.train, whose
/// files are prepared. A run that resumes with another train_batch_size makes the samples that are
/// left in other steps. Nothing changes where the job gives run.steps. UsageError on all ranks
/// where the number of steps contradicts other keys.
void count_steps_of_epochs(const ProcessGrid& grid, LoadedJob& job, PlacedConfig& config);

/// Collective. The same for a job that is planned, where its training data are files of tokens or
/// text that exist. Returns a line about the steps; empty where the job gives run.steps.
std::string count_steps_to_plan(const Ranks& ranks, LoadedJob& job);

}  // namespace triax

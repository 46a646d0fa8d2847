// SPDX-License-Identifier: Apache-2.0
#pragma once
// Start of a training run: named steps between the process grid and the Trainer, in one table.
#include <optional>
#include <span>
#include <string>

#include "kernels/parallel/runtime.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/conversation.hpp"
#include "src/config/load/load.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/launch/run_lock.hpp"

namespace triax {

/// Parts of a run that exist before its Trainer, made by the steps of start_steps(). Members are
/// destroyed in reverse order: the plan first, the lock before the threads.
struct StartUp {
  /// Collective. Runs all steps; `grid` outlives it. `cores`: where this rank's threads run, for
  /// the first line of the log.
  StartUp(LoadedJob job, ProcessGrid& grid, const std::string& cores);

  ProcessGrid& grid;
  const std::string cores;
  LoadedJob job;  // with the steps of run.epochs, once they are counted
  // The job on the grid, with checkpoint.resume as this run takes it, and the tokenizer's hash.
  PlacedConfig config;
  const ConversationConfig conversation;
  RunTokenizer tokenizer;
  std::optional<KernelRuntime> kernels;
  std::optional<RunLock> lock;  // of rank 0
  std::optional<JobPlan> plan;
};

/// A step is collective and throws alike on all ranks: UsageError where the job is at fault, Error
/// where the machine is.
struct StartStep {
  const char* name;
  void (*run)(StartUp&);
};

/// The steps in their order.
std::span<const StartStep> start_steps();

/// Text for a stall report. `position`: position on the progress board of a rank in its start-up,
/// the step's index + 1; 0: no step.
std::string start_text(int position);

}  // namespace triax

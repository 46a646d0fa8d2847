// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax train --dry-run and --print-plan: the plan of a run, without the run.
#include "src/comm/launch/mpi_session.hpp"
#include "src/commands/job_arguments.hpp"

namespace triax {

struct PlanArguments {
  JobArguments job;
  bool print_plan = false, print_schedule = false, dry_run = false, json = false;
  /// Ranks per node of a plan made by one process. 0: unknown; memory is checked per rank, and
  /// node-dependent settings assume that all ranks are on one node.
  int ranks_per_node = 0;
};

/// Collective. Prints on rank 0 the requested parts of a run's plan: the instructions of a step for
/// each stage, the memory and messages of a step, as text or JSON. Under mpiexec the plan is for
/// these ranks; one process plans a grid of any size. Missing files are warnings on standard error.
/// UsageError, after the output, if the job does not fit.
void show_plan(const PlanArguments& arguments, MpiSession& session);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax train --dry-run and --print-plan: a run's plan, without the run.
#include "src/comm/launch/mpi_session.hpp"
#include "src/commands/job_arguments.hpp"

namespace triax {

struct PlanArguments {
  JobArguments job;
  bool print_plan = false, dry_run = false, json = false;
  /// Ranks per node of a plan that one process makes. 0: not known; memory is judged by rank, and
  /// what needs nodes takes all ranks for those of one node.
  int ranks_per_node = 0;
};

/// Collective. Prints on rank 0 what was asked for of a run's plan: the instructions of a step for
/// each stage, the memory and messages of a step (a table, or JSON), or both. Under mpiexec for the
/// ranks there; one process may ask for a grid of any size. Files that a run would miss go to
/// standard error. UsageError, after the output, where the job does not fit.
void show_plan(const PlanArguments& arguments, MpiSession& session);

}  // namespace triax

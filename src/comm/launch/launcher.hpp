// SPDX-License-Identifier: Apache-2.0
#pragma once
// Information from the environment about the launcher of this process, available before and without
// MPI.
#include <mpi.h>

#include <functional>
#include <optional>
#include <string>

namespace triax {

/// Value of an environment variable; "" if it is not set.
using Environment = std::function<std::string(const char*)>;
std::string environment_variable(const char* name);

/// Number of this process among those a launcher started together.
struct LaunchedProcess {
  int number = 0;
  int count = 1;
};
LaunchedProcess launched_process(const Environment& variable = environment_variable);

/// UsageError if a launcher started several processes but MPI sees one: launcher and MPI library do
/// not fit (`srun` without --mpi=pmi2, the mpiexec of another MPI), and every process would train
/// alone. For commands that use all ranks of a job. Only the first process reports; the others exit
/// with the status of a UsageError.
void check_launch(MPI_Comm world);

/// Parts of check_launch()'s error text.
struct LaunchProblem {
  std::string problem, why, what_to_do;
  int process = 0;  // number of this process among those launched
};
std::optional<LaunchProblem> launch_problem(int mpi_size, const Environment& variable);

}  // namespace triax

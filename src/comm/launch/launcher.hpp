#pragma once
// What the environment says of the program that started this process, before MPI does or without
// it.
#include <mpi.h>

#include <functional>
#include <optional>
#include <string>

namespace triax {

/// The value of an environment variable; "" where it is not set.
using Environment = std::function<std::string(const char*)>;
std::string environment_variable(const char* name);

/// Which of the processes that a launcher started together this is.
struct LaunchedProcess {
  int number = 0;
  int count = 1;
};
LaunchedProcess launched_process(const Environment& variable = environment_variable);

/// A UsageError where a launcher started several processes and MPI sees one: the launcher and the
/// MPI library do not speak the same language (`srun` without --mpi=pmi2, another MPI's mpiexec),
/// and every process would train alone. For commands that use all ranks of a job. Of those
/// processes the first alone says so; the others leave with the status of a UsageError.
void check_launch(MPI_Comm world);

/// What check_launch finds: the error's text, or nothing.
struct LaunchProblem {
  std::string problem, why, what_to_do;
  int process = 0;  // which of those that the launcher started this one is
};
std::optional<LaunchProblem> launch_problem(int mpi_size, const Environment& variable);

}  // namespace triax

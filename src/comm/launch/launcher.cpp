// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/launcher.hpp"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/mpi_error.hpp"

namespace triax {
namespace {

struct Launcher {
  const char* processes;  // variable with the number of processes started
  const char* process;    // variable with the number of this process
  const char* name;
  const char* remedy;
};

constexpr const char* with_srun =
    "Start with srun --mpi=TYPE, one of `srun --mpi=list` that this MPI library speaks (MPICH: "
    "pmi2, Open MPI: pmix), or with its mpiexec; jobs/*.sbatch take SLURM_MPI_TYPE=TYPE. For one "
    "process: srun --ntasks=1 triax ...";
constexpr const char* with_own_mpiexec =
    "Start with the mpiexec of the MPI library that triax was built with";

// Innermost first: an mpiexec runs within a step of srun, a step within a job.
constexpr std::array<Launcher, 5> launchers = {{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI's mpiexec", with_own_mpiexec},
    {"PALS_NRANKS", "PALS_RANKID", "PALS's mpiexec", with_own_mpiexec},
    {"PMI_SIZE", "PMI_RANK", "the launcher (PMI)", with_own_mpiexec},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", with_srun},
    {"SLURM_NTASKS", "SLURM_PROCID", "the Slurm job", with_srun},
}};

struct Found {
  const Launcher* launcher = nullptr;
  LaunchedProcess process;
};

// The innermost launcher counts, also if it started one process on purpose within a larger job.
Found find_launcher(const Environment& variable) {
  const auto number = [&](const char* name) {
    const std::string value = variable(name);
    int found = 0;
    std::from_chars(value.data(), value.data() + value.size(), found);
    return found;
  };
  for (const Launcher& launcher : launchers)
    if (const int count = number(launcher.processes); count >= 1)
      return {&launcher, {number(launcher.process), count}};
  return {};
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

LaunchedProcess launched_process(const Environment& variable) {
  return find_launcher(variable).process;
}

std::optional<LaunchProblem> launch_problem(int mpi_size, const Environment& variable) {
  const auto [launcher, process] = find_launcher(variable);
  if (mpi_size != 1 || process.count == 1) return {};
  const bool by_srun = !variable("SLURM_STEP_NUM_TASKS").empty();
  return LaunchProblem{
      fmt::format("{} has {} processes but MPI sees this one alone", launcher->name, process.count),
      fmt::format(
          "{}={}, MPI size 1: the launcher did not connect the processes of this MPI library",
          launcher->processes, process.count),
      by_srun ? with_srun : launcher->remedy, process.number};
}

void check_launch(MPI_Comm world) {
  int size = 1;
  check_mpi(MPI_Comm_size(world, &size), "MPI_Comm_size", "this process");
  const auto found = launch_problem(size, environment_variable);
  if (!found) return;
  if (found->process != 0) {
    // Only the first process prints the error. The others wait, since srun --kill-on-bad-exit ends
    // all when one leaves.
    std::this_thread::sleep_for(std::chrono::seconds(5));
    std::_Exit(usage_failure);
  }
  throw UsageError(found->problem, found->why, found->what_to_do);
}

}  // namespace triax

#pragma once
// What the commands of triax do, once main.cpp has read their arguments.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/launch/mpi_session.hpp"
#include "src/launch/start_signals.hpp"

namespace triax {

struct JobArguments {
  std::string job;
  std::vector<std::string> overrides;
  bool print_plan = false, dry_run = false, json = false, reference = false;
  std::chrono::system_clock::time_point started;  // the program
  int ranks = 0;                                  // 0: the smallest grid that the job allows
  int ranks_per_node = 0;  // of a plan that one process makes; 0: not known, memory is judged by
                           // rank, and what needs nodes takes all ranks for those of one
};

/// Reports an error that ends the program. One that every rank meets is printed once, and the
/// program ends in order; one that some ranks alone meet ends the job, since the others may be
/// waiting for them. Returns the exit status.
int fail(MpiSession& session, const std::string& text, int status);

/// EX_TEMPFAIL of sysexits.h: to be run again.
inline constexpr int stopped_early = 75;

/// Trains as the job says, on all ranks; `start` ends when the run takes signals itself. Returns
/// the exit status. Collective.
int train(const JobArguments& arguments, MpiSession& session, std::optional<StartSignals>& start);

/// Prints what was asked for of a run's plan, on rank 0: the instructions of a step for each stage,
/// what it would take of memory and send (a table, or JSON), or both. Under mpiexec for the ranks
/// there; one process may ask for a grid of any size. What a run would miss (data files that are
/// not there) goes to standard error. UsageError, behind what is printed, where the job does not
/// fit. Collective.
void show_plan(const JobArguments& arguments, MpiSession& session);

/// Prints a job with its defaults, or the reference of keys. What a run would miss (data files that
/// are not there) goes to standard error.
void print_config(const JobArguments& arguments);

}  // namespace triax

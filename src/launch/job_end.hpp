// SPDX-License-Identifier: Apache-2.0
#pragma once
// End of the Slurm job that a run is part of.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/config/config.hpp"

namespace triax {

/// Environment that job_end() queries: variables ("" if not set) and the output of commands ("" if
/// they fail).
struct JobSurroundings {
  std::function<std::string(const char*)> variable;
  std::function<std::string(const std::string&)> output_of;
};
/// The environment and commands of this process.
JobSurroundings surroundings();

/// End of the Slurm job: SLURM_JOB_END_TIME (seconds since 1970) if Slurm or the batch script sets
/// it, else the end that squeue prints. Nothing outside Slurm or for a job without a limit.
std::optional<std::chrono::system_clock::time_point> job_end(const JobSurroundings& around);

/// Time by which the run must have ended: run.stop_before_end seconds before the job's end or
/// before `start` (of the program) + run.time_limit, whichever is sooner. Nothing if
/// stop_before_end is 0 or no end is known.
std::optional<std::chrono::system_clock::time_point> leaving_time(
    const RunConfig& run, std::chrono::system_clock::time_point start,
    const JobSurroundings& around);

/// UsageError if no time is `left`: the seconds from the start of the program to leaving_time().
/// Each start of such a job would make at most one step.
void check_time_left(const RunConfig& run, double left);

/// leaving_time() for a run that begins its steps now; logs it, and warns if stop_before_end is set
/// and no end is known. UsageError as in check_time_left().
std::optional<std::chrono::system_clock::time_point> logged_leaving_time(
    const RunConfig& run, std::chrono::system_clock::time_point start);

}  // namespace triax

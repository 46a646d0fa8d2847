// SPDX-License-Identifier: Apache-2.0
#pragma once
// When the job that this run is part of ends.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/config/config.hpp"

namespace triax {

/// Where job_end() looks: the environment ("" where a variable is not set) and the output of a
/// command ("" where it fails).
struct JobSurroundings {
  std::function<std::string(const char*)> variable;
  std::function<std::string(const std::string&)> output_of;
};
/// Environment and commands of this process.
JobSurroundings surroundings();

/// The end of the Slurm job: SLURM_JOB_END_TIME (seconds since 1970) where Slurm or the batch
/// script sets it, else what squeue says. Nothing outside Slurm, and for a job without a limit.
std::optional<std::chrono::system_clock::time_point> job_end(const JobSurroundings& around);

/// When to be gone: run.stop_before_end before the sooner of the job's end and run.time_limit from
/// `start`, of the program. Nothing where stop_before_end is 0, or no end is known.
std::optional<std::chrono::system_clock::time_point> leaving_time(
    const RunConfig& run, std::chrono::system_clock::time_point start,
    const JobSurroundings& around);

/// UsageError where nothing was `left` of the time before leaving_time(), in seconds, when the
/// program started: each start of such a job would come to one step.
void check_time_left(const RunConfig& run, double left);

/// leaving_time(), said in a line, for a run that begins its steps now; a warning where
/// stop_before_end is set and no end is known. UsageError: check_time_left().
std::optional<std::chrono::system_clock::time_point> announced_leaving_time(
    const RunConfig& run, std::chrono::system_clock::time_point start);

}  // namespace triax

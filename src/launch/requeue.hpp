// SPDX-License-Identifier: Apache-2.0
#pragma once
// A batch job that is run again: requeued after a signal, its time limit or a failure, or the next
// segment of a chain.
#include <optional>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"
#include "src/launch/job_end.hpp"

namespace triax {

/// Name of this process's batch job, the same each time that it runs: TRIAX_JOB_ID
/// (jobs/chain.sh: one for all segments), else Slurm's number ("40_3": an index of an array).
/// Empty outside of a batch job, as in an allocation where a user types commands.
std::string batch_job(const JobSurroundings& around);

/// One time that Slurm runs a job: its number and how often it has been requeued ("42.1"). Empty
/// outside of Slurm.
std::string batch_attempt(const JobSurroundings& around);

/// Where the runs of a batch job began, as job.json keeps it.
struct BatchStart {
  std::string job;        // batch_job()
  std::string resume;     // checkpoint.resume, a file by its absolute path
  std::int64_t step = 0;  // the steps of the checkpoint that it named
  std::string done_in;    // batch_attempt() in which the run came to its end; empty: in none
};
/// Start in job.json of a run.directory; nothing without job.json or a batch job in it.
std::optional<BatchStart> recorded_start(const std::string& run_directory);

/// checkpoint.resume says where a batch job begins. One that has run before in its run.directory
/// goes on from its own checkpoints instead: checkpoint.resume becomes "auto", and a line says so.
/// A run that came to its end in this very attempt is not run again: what comes now is another
/// command of the job's script, and begins as it says. `name`, `attempt`: batch_job() and
/// batch_attempt() on rank 0. Collective.
void apply_requeue_resume(ProcessGrid& grid, const std::string& name, const std::string& attempt,
                          Config& config);

/// Notes in job.json, where it is this batch job's, that its run came to its end in `attempt`;
/// where that cannot be written a warning says what it means. A run that had nothing to do
/// (`made_steps` false) carries on such a note, and makes none: what ran there last may have been
/// another command of the script, and cut short. Rank 0 only.
void record_done(const std::string& run_directory, const std::string& name,
                 const std::string& attempt, bool made_steps);

/// A warning for a batch job of more than a few steps from `step` on that writes no checkpoint
/// before its end; else nothing.
std::string warning_of_loss(const Config& config, std::int64_t step, const std::string& name);

/// How a run that was stopped goes on from its last checkpoint, in words.
std::string resume_hint(const CheckpointConfig& checkpoint, const std::string& name);

}  // namespace triax

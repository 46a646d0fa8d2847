// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batch jobs that run again: requeued after a signal, a time limit or a failure, or the next
// segment of a chain.
#include <optional>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"
#include "src/launch/job_end.hpp"

namespace triax {

/// Name of this process's batch job, the same in each of its runs: TRIAX_JOB_ID (jobs/chain.sh sets
/// one for all segments), else the Slurm job id ("40_3": task 3 of array 40). Empty outside a batch
/// job, for example in an interactive allocation.
std::string batch_job(const JobSurroundings& around);

/// Attempt of a Slurm job: its id and the number of requeues so far ("42.1"). Empty outside Slurm.
std::string batch_attempt(const JobSurroundings& around);

/// Start of a batch job's first run, as recorded in job.json.
struct BatchStart {
  std::string job;        // batch_job()
  std::string resume;     // checkpoint.resume; a file by its absolute path
  std::int64_t step = 0;  // step of the checkpoint that `resume` named
  std::string done_in;    // batch_attempt() that completed the run; empty: none has
};
/// Start recorded in the job.json of a run.directory; nothing if there is no job.json or it names
/// no batch job.
std::optional<BatchStart> recorded_start(const std::string& run_directory);

/// Sets checkpoint.resume to "auto", and logs it, if this batch job has already run in
/// run.directory and written checkpoints there: a requeued job continues from its own checkpoints.
/// A run that this attempt has already completed is not continued: the present command is another
/// one of the job's script and starts as it says. `name`, `attempt`: batch_job() and
/// batch_attempt() on rank 0. Collective.
void apply_requeue_resume(ProcessGrid& grid, const std::string& name, const std::string& attempt,
                          Config& config);

/// Records in job.json, if it belongs to this batch job, that `attempt` completed the run; warns if
/// it cannot be written. A run without steps (`made_steps` false) renews an existing record but
/// creates none: the last command that ran there may have been another one of the script, cut
/// short. Rank 0 only.
void record_done(const std::string& run_directory, const std::string& name,
                 const std::string& attempt, bool made_steps);

/// Warning for a batch job with more than 10 steps left after `step` that writes no checkpoint
/// before its end; empty otherwise.
std::string warning_of_loss(const Config& config, std::int64_t step, const std::string& name);

/// How a run that was stopped goes on from its last checkpoint, in words.
std::string resume_hint(const CheckpointConfig& checkpoint, const std::string& name);

}  // namespace triax

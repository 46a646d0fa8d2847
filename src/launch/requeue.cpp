// SPDX-License-Identifier: Apache-2.0
#include "src/launch/requeue.hpp"

#include <spdlog/spdlog.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/files/durable.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/config/source/absolute_path.hpp"
#include "src/launch/own_checkpoints.hpp"

namespace triax {

std::string batch_job(const JobSurroundings& around) {
  if (std::string name = around.variable("TRIAX_JOB_ID"); !name.empty()) return name;
  // Slurm sets ENVIRONMENT=BATCH in batch scripts only, not under salloc.
  if (around.variable("ENVIRONMENT") != "BATCH") return {};
  const std::string task = around.variable("SLURM_ARRAY_TASK_ID");
  if (task.empty()) return around.variable("SLURM_JOB_ID");
  return around.variable("SLURM_ARRAY_JOB_ID") + '_' + task;
}

std::string batch_attempt(const JobSurroundings& around) {
  const std::string job = around.variable("SLURM_JOB_ID");
  const std::string count = around.variable("SLURM_RESTART_COUNT");
  return job.empty() ? job : job + '.' + (count.empty() ? "0" : count);
}

std::optional<BatchStart> recorded_start(const std::string& run_directory) {
  std::ifstream file(run_directory + "/job.json");
  const auto job = nlohmann::json::parse(file, nullptr, false);
  try {
    const auto& batch = job.at("triax").at("batch_job");
    return BatchStart{batch.at("name"), job.at("checkpoint").at("resume"), batch.at("begin"),
                      batch.value("done_in", "")};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

namespace {

bool resumes_newest(const CheckpointConfig& checkpoint) {
  return checkpoint.resume == "auto" || checkpoint.resume == "must";
}

// Whether the newest checkpoint was written by an earlier run of this batch job. In a directory
// that the run owns, checkpoints newer than its resume point were renamed when it began.
bool has_own_checkpoint(const std::string& name, const std::string& attempt, const Config& config) {
  const CheckpointConfig& checkpoint = config.checkpoint;
  if (name.empty() || resumes_newest(checkpoint) || !owns_checkpoints(config)) return false;
  const std::optional<BatchStart> start = recorded_start(config.run.directory);
  if (!start || start->job != name) return false;
  if (!attempt.empty() && start->done_in == attempt) return false;
  if (start->resume != checkpoint.resume && start->resume != absolute_path(checkpoint.resume))
    return false;
  const std::vector<std::string> found = list_checkpoints(checkpoint.directory);
  return !found.empty() && checkpoint_step(found.front()) > start->step;
}

}  // namespace

void apply_requeue_resume(ProcessGrid& grid, const std::string& name, const std::string& attempt,
                          Config& config) {
  std::string resume;
  agreed(grid, [&] {
    if (grid.rank() == 0 && has_own_checkpoint(name, attempt, config)) resume = "auto";
  });
  resume = broadcast_text(grid, resume);
  if (resume.empty()) return;
  spdlog::info(
      "batch job {} runs again: it continues from its own checkpoints; checkpoint.resume {} "
      "applies to its first run only",
      name, config.checkpoint.resume);
  config.checkpoint.resume = resume;
}

void record_done(const std::string& run_directory, const std::string& name,
                 const std::string& attempt, bool made_steps) {
  const std::optional<BatchStart> start = recorded_start(run_directory);
  if (attempt.empty() || !start || start->job != name || start->done_in == attempt) return;
  if (!made_steps && start->done_in.empty()) return;
  const std::string path = run_directory + "/job.json";
  try {
    std::ifstream file(path);
    auto job = nlohmann::ordered_json::parse(file);
    job["triax"]["batch_job"]["done_in"] = attempt;
    write_durably(path, job.dump(2) + '\n');
  } catch (const std::exception& error) {
    spdlog::warn(
        "cannot record in {} that the run is complete ({}). If this batch job runs again in {}, it "
        "continues from the checkpoints there and ignores checkpoint.resume",
        path, error.what(), run_directory);
  }
}

std::string warning_of_loss(const Config& config, std::int64_t step, const std::string& name) {
  constexpr std::int64_t few = 10;
  if (name.empty() || config.checkpoint.interval > 0 || config.run.steps - step <= few) return {};
  return fmt::format(
      "checkpoint.interval is 0: this job writes no checkpoint before its end or a signal, so a "
      "failed node costs all work since step {}. Set checkpoint.interval to the number of steps "
      "that may be lost",
      step);
}

std::string resume_hint(const CheckpointConfig& checkpoint, const std::string& name) {
  if (resumes_newest(checkpoint)) return "rerun the same command to continue from there";
  const std::string other = "rerun with --set checkpoint.resume=auto to continue from there";
  return name.empty() ? other
                      : "this batch job continues from there if it is requeued; otherwise " + other;
}

}  // namespace triax

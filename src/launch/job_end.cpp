// SPDX-License-Identifier: Apache-2.0
#include "src/launch/job_end.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Clock = std::chrono::system_clock;

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// Time in squeue's %e format: "2026-11-21T22:50:28", local time; "NONE", "N/A" or "Unknown" for a
// job without a limit.
std::optional<Clock::time_point> time_of(const std::string& text) {
  std::tm local{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &local) == nullptr) return {};
  local.tm_isdst = -1;
  const std::time_t seconds = std::mktime(&local);
  if (seconds < 0) return {};
  return Clock::from_time_t(seconds);
}

std::string output_of_command(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 256> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
    text.append(part.data(), n);
  return ::pclose(pipe) == 0 ? text : std::string();
}

}  // namespace

JobSurroundings surroundings() {
  return {[](const char* name) -> std::string {
            const char* const value = std::getenv(name);
            return value != nullptr ? value : "";
          },
          output_of_command};
}

std::optional<Clock::time_point> job_end(const JobSurroundings& around) {
  if (const auto seconds = number_of(around.variable("SLURM_JOB_END_TIME")))
    return Clock::from_time_t(*seconds);
  std::string job = around.variable("SLURM_JOB_ID");
  if (!number_of(job)) return {};  // becomes part of a shell command
  // The last task of an array has the id of the array as its own; squeue would list all tasks for
  // it.
  const std::string array = around.variable("SLURM_ARRAY_JOB_ID");
  const std::string task = around.variable("SLURM_ARRAY_TASK_ID");
  if (number_of(array) && number_of(task)) job = array + '_' + task;
  // SIGKILL, because a run blocks SIGTERM (hold_signals) and its child processes inherit that.
  return time_of(
      around.output_of("timeout -s KILL 10 squeue --noheader --format=%e --jobs=" + job));
}

std::optional<Clock::time_point> leaving_time(const RunConfig& run, Clock::time_point start,
                                              const JobSurroundings& around) {
  if (run.stop_before_end <= 0.0) return {};
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  };
  std::optional<Clock::time_point> end = job_end(around);
  if (run.time_limit > 0.0) {
    const Clock::time_point limit = start + seconds(run.time_limit);
    end = end ? std::min(*end, limit) : limit;
  }
  if (!end) return {};
  return *end - seconds(run.stop_before_end);
}

void check_time_left(const RunConfig& run, double left) {
  if (left > 0.0) return;
  throw UsageError(
      "no time is left for a step",
      fmt::format(
          "the job ends {:.0f} s after triax started, and run.stop_before_end stops it {:.0f} s "
          "earlier",
          std::max(0.0, left + run.stop_before_end), run.stop_before_end),
      "Give the job more time (sbatch --time, run.time_limit), or lower run.stop_before_end to the "
      "time of one step and two checkpoints");
}

std::optional<Clock::time_point> logged_leaving_time(const RunConfig& run,
                                                     Clock::time_point start) {
  if (run.stop_before_end <= 0.0) return {};
  const auto leave = leaving_time(run, start, surroundings());
  if (leave) {
    const auto seconds_from = [&](Clock::time_point from) {
      return std::chrono::duration<double>(*leave - from).count();
    };
    check_time_left(run, seconds_from(start));
    const double left = std::max(0.0, seconds_from(Clock::now()));
    spdlog::info("the run will stop by itself in {:.0f} s, run.stop_before_end before the job ends",
                 left);
  } else {
    spdlog::warn(
        "run.stop_before_end has no effect: the end of the job is unknown (neither "
        "SLURM_JOB_END_TIME nor squeue gives it). Set run.time_limit");
  }
  return leave;
}

}  // namespace triax

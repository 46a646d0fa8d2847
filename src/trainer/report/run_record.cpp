// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_record.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "io/metrics/run_events.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

std::string metrics_path(const Config& config) {
  return config.run.directory + "/metrics.jsonl";
}

}  // namespace

bool ends_before_validation(const Config& config, std::int64_t first_step) {
  return ends_with_step(metrics_path(config), first_step - 1);
}

RunRecord::RunRecord(const Config& config, const OutputConfig& outputs, std::int64_t first_step)
    : steps_(config.run.steps),
      directory_(config.run.directory),
      metrics_(metrics_path(config), first_step),
      monitors_(config.run, outputs, first_step),
      progress_(config.run.progress, first_step, config.run.steps, config.steps_per_print) {
  if (metrics_.set_aside() > 0)
    spdlog::warn(
        "{} lines of metrics.jsonl are of steps after step {}, which this run repeats: moved to {}",
        metrics_.set_aside(), first_step, superseded_metrics(metrics_path(config)));
}

void RunRecord::step(const StepMetrics& metrics) {
  metrics_.write(metrics);
  monitors_.step(metrics);
  progress_.step(metrics);
  log_problem();
}

void RunRecord::valid(std::int64_t step, const HeldOutLoss& held_out, std::int64_t tokens) {
  metrics_.write_valid(step, held_out.loss, tokens, held_out.pairs);
  monitors_.valid(step, held_out.loss, held_out.pairs);
  pause();
  spdlog::info("after {} of {} steps: validation loss {:.4f}{}", step + 1, steps_, held_out.loss,
               pairs_text(held_out.pairs));
  log_problem();
}

void RunRecord::rollback(const RollbackMetrics& rollback) {
  metrics_.write_rollback(rollback);
  log_problem();
}

void RunRecord::event(const std::string& kind, const nlohmann::ordered_json& fields) {
  append_event(directory_ + "/" + events_file, kind, fields);
}

void RunRecord::close(bool done) {
  try {
    metrics_.sync();
  } catch (const Error& error) {
    if (done) throw;
    spdlog::error("{}", error.what());
  }
}

void RunRecord::log_problem() {
  if (const std::string problem = monitors_.take_problem(); !problem.empty()) {
    pause();
    spdlog::error("{}: training continues without it", problem);
  }
  const bool waiting = !metrics_.problem().empty();
  if (waiting == problem_logged_) return;
  problem_logged_ = waiting;
  pause();
  if (waiting)
    spdlog::error(
        "{}: training continues and keeps the lines in memory. Free some space, or restore what "
        "was removed",
        metrics_.problem());
  else
    spdlog::info("the lines of metrics.jsonl that were kept in memory are written");
}

}  // namespace triax

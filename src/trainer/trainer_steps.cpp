// SPDX-License-Identifier: Apache-2.0
// The steps of a Trainer: started, exchanged, and finished once their numbers are known (see
// StepRunner on numbers that come late).
#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "io/files/shell_word.hpp"
#include "src/trace/write_trace.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {

StepMetrics Trainer::train_step(std::int64_t step) {
  RunningStep running = start_step(step);
  exchange_step_summary(running);
  return finish_step(running);
}

// Returns the next step: after a rollback an earlier one.
std::int64_t Trainer::make_step(std::int64_t step, RunEnd& end) {
  RunningStep now = start_step(step);
  if (pending_) {
    const StepMetrics before = finish_step(*pending_);
    record(before);
    pending_.reset();
    if (goes_back(before)) return roll_back(before);
    if (before.skipped) now = start_step(step);  // after such a step it changed nothing
  }
  exchange_step_summary(now);
  const Due due = due_after(step);
  if (now.pending() && !due.any()) {
    pending_ = std::move(now);
  } else {
    const StepMetrics metrics = finish_step(now);
    record(metrics);
    if (goes_back(metrics)) {
      step = roll_back(metrics);
      if (stops(step_summary_.request)) end = stop_behind_rollback();
      return step;
    }
  }
  end = after_step(step, due);
  if (step + 1 == outputs_.trace.end) record_trace();
  return step + 1;
}

// A trace that cannot be written does not end the run.
void Trainer::record_trace() {
  StepRecorder& recorder = steps_.recorder();
  if (!recorder.holds_any()) return;
  const std::string path = fmt::format("{}/{}", config_.run.directory, trace_file);
  std::string problem;
  {
    const FileScope working(grid_.watch());
    problem = write_trace(grid_, recorder, rank_.plan.steps, path);
  }
  recorder.clear();
  if (!leader()) return;
  if (record_) record_->pause();
  if (problem.empty())
    spdlog::info(
        "{}: the instructions of the traced steps. Open it in https://ui.perfetto.dev, or "
        "run triax trace compare {}",
        path, shell_word(config_.run.directory));
  else
    spdlog::error("the trace is not written, training goes on: {}", problem);
}

Trainer::RunningStep Trainer::start_step(std::int64_t step) {
  return steps_.start(step, position(step).samples, position(step + 1).tokens,
                      pending_.has_value());
}

// The evaluation that comes before the next step counts as work ahead.
void Trainer::exchange_step_summary(RunningStep& running) {
  const std::int64_t done = running.metrics.step + 1;
  double ahead = steps_.seconds_ahead(running, done == config_.run.steps);
  if (evaluation_ends(done)) ahead += evaluation_seconds_;
  step_summary_ =
      steps_.exchange(running, {0.0, requests_.take(ahead), checkpoints_.writing(), {}});
}

// Logged once, after enough steps to be no accident. All ranks have the same summary.
void Trainer::name_straggler(std::int64_t step) {
  constexpr std::int64_t many = 200;
  if (straggler_named_ || step - start_.step < many || !one_is_waited_for(step_summary_.messages))
    return;
  straggler_named_ = true;
  if (leader()) record_->pause();
  report_straggler(step, step_summary_.messages.seconds);
}

void Trainer::report_straggler(std::int64_t steps_done, double seconds) {
  const std::string text = straggler_text(grid_, seconds);
  if (!leader() || text.empty()) return;
  spdlog::warn("{}", text);
  record_->event("straggler", {{"step", steps_done}, {"text", text}});
}

StepMetrics Trainer::finish_step(RunningStep& running) {
  StepMetrics metrics = steps_.numbers(running);
  update_loss_scale(metrics);
  if (metrics.skipped) report_skipped(metrics, running);
  if (metrics.skipped && running.pending()) rank_.optimizer.rearm(rank_.stream);
  bad_steps_.count(metrics, steps_.loss_scaler());
  if (metrics.without_labels()) {
    name_step_without_labels(metrics);
    verdict_ = LossVerdict::none;
    return metrics;
  }
  verdict_ = losses_.count(metrics.step, metrics.loss, !metrics.skipped);
  metrics.loss_spike = is_spike(verdict_);
  return metrics;
}

// Warned of once: later ones are in metrics.jsonl.
void Trainer::name_step_without_labels(const StepMetrics& metrics) {
  if (std::exchange(without_labels_named_, true) || !leader()) return;
  if (record_) record_->pause();
  spdlog::warn(
      "step {} changed nothing: no token of its batch has a label, all are {}. Later steps like it "
      "are not named: they have \"label_tokens\":0 in metrics.jsonl",
      metrics.number(), ignored_label);
}

// Overflows of float16 are how its scale is found. Any other step that is not finite is searched
// for the layer where that began, which takes as long as the step.
void Trainer::report_skipped(const StepMetrics& metrics, const RunningStep& running) {
  if (metrics.loss_scale && std::isfinite(metrics.loss)) {
    if (leader())
      spdlog::warn("step {} skipped: gradients overflow float16 at loss scale {}, next scale {}",
                   metrics.number(), *metrics.loss_scale, steps_.loss_scaler().scale());
  } else {
    const std::string first = steps_.first_non_finite(running, pending_.has_value());
    if (leader())
      spdlog::warn("step {} skipped: loss {}, gradient norm {}; first not finite: {}",
                   metrics.number(), metrics.loss, metrics.grad_norm, first);
  }
}

// Fails on all ranks alike. The skipped step has not changed the weights.
void Trainer::update_loss_scale(const StepMetrics& metrics) {
  const std::int64_t step = metrics.step;
  LossScaler& scaler = steps_.loss_scaler();
  const LossScaler before = scaler;
  try {
    metrics.without_labels() ? scaler.pass_over() : scaler.update(metrics.skipped);
  } catch (const Error&) {
    scaler = before;
    write_line(metrics);
    const bool trained = step > start_.step && before.skipped() < step;
    // If the weights are not finite, an older checkpoint stays the newest.
    const bool worth = trained && steps_.weights_are_finite();
    const std::string unsaved = worth ? save_at_failure(step) : std::string();
    if (!unsaved.empty() && leader())
      spdlog::error("after {} of {} steps {}", step, config_.run.steps, unsaved);
    checkpoints_.finish();
    throw;
  }
}

}  // namespace triax

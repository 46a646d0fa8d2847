// A step of a Trainer: begun, told of, and settled once its numbers are known. Where the device
// decides whether a step is used (Optimizer::decides_on_device) a run settles it while the next one
// runs, and takes it for used until then; where it was not, the device keeps the next one from
// changing anything, and it is made once more.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "kernels/random/random.hpp"
#include "src/executor/non_finite.hpp"
#include "src/recipe/lr_schedule.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {
namespace {

double seconds_between(Trainer::Clock::time_point begin, Trainer::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

StepMetrics Trainer::train_step(std::int64_t step) {
  RunningStep running = start_step(step);
  tell(running);
  return settle(running);
}

// Returns the next step: behind a rollback an earlier one.
std::int64_t Trainer::make_step(std::int64_t step, RunEnd& end) {
  RunningStep now = start_step(step);
  if (late_) {
    const StepMetrics before = settle(*late_);
    record(before);
    late_.reset();
    if (goes_back(before)) return roll_back(before);
    if (before.skipped) now = start_step(step);  // behind such a step it changed nothing
  }
  tell(now);
  const Due due = due_after(step);
  if (now.output.late.pending() && !due.any()) {
    late_ = std::move(now);
  } else {
    const StepMetrics metrics = settle(now);
    record(metrics);
    if (goes_back(metrics)) {
      step = roll_back(metrics);
      if (stops(told_.request)) end = stop_behind_rollback();
      return step;
    }
  }
  end = after_step(step, due);
  return step + 1;
}

// Stages between the first and the last see neither tokens nor labels.
void Trainer::load_batch(std::int64_t step) {
  grid_.drain(batch_.pushed());  // the host writes it again
  const FileScope working(grid_.watch());
  if (reads_batches(stage_)) batch_.load(stream_, position(step).samples);
}

Trainer::RunningStep Trainer::start_step(std::int64_t step) {
  RunningStep running;
  running.begin = Clock::now();
  grid_.board().set_step(step);
  share_.begin();
  load_batch(step);
  LossScaler scaler = loss_scaler_;
  if (late_) scaler.update(false);
  running.input = step_input(step, scaler);
  running.output = training_.run(running.input);
  running.metrics.step = step;
  running.metrics.lr = running.input.optimizer.learning_rate;
  running.metrics.tokens = position(step + 1).tokens;
  if (scaler.enabled()) running.metrics.loss_scale = scaler.scale();
  return running;
}

// A step whose numbers are late has not ended yet: by the one before it is known how long it takes.
// So it is of the evaluation that comes before the next step.
void Trainer::tell(RunningStep& running) {
  const bool late = running.output.late.pending();
  const bool last = running.metrics.step + 1 == config_.run.steps;
  const double step = late ? last_seconds_ : seconds_between(running.begin, Clock::now());
  double ahead = ((late ? 1.0 : 0.0) + (last ? 0.0 : 1.0)) * step;
  if (evaluation_ends(running.metrics.step + 1)) ahead += evaluation_seconds_;
  told_ =
      share_.share({stage_.has_head() && grid_.tensor_rank() == 0 ? running.output.loss_sum : 0.0,
                    requests_.take(ahead),
                    checkpoints_.writing(),
                    {}},
                   running.metrics);
  running.loss_sum = told_.loss_sum;
}

// Once, after so many steps that it is no accident. All ranks were told the same.
void Trainer::name_straggler(std::int64_t step) {
  constexpr std::int64_t many = 200;
  if (straggler_named_ || step - start_.step < many || !one_is_waited_for(told_.messages)) return;
  straggler_named_ = true;
  if (leader()) record_->pause();
  report_straggler(grid_, told_.messages.seconds);
}

StepMetrics Trainer::settle(RunningStep& running) {
  StepMetrics metrics = running.metrics;
  metrics.grad_norm = running.output.grad_norm;
  if (const LateNumbers& late = running.output.late; late.pending()) {
    grid_.drain(late.arrived());
    const StepNumbers numbers = late.read();
    metrics.grad_norm = numbers.grad_norm;
    running.loss_sum = numbers.loss_sum;
  }
  const Clock::time_point now = Clock::now();
  metrics.loss = without_sign_of_nan(running.loss_sum / static_cast<double>(tokens_per_step()));
  metrics.grad_norm = without_sign_of_nan(metrics.grad_norm);
  metrics.step_seconds = seconds_between(std::max(running.begin, settled_), now);
  settled_ = now;
  last_seconds_ = metrics.step_seconds;
  metrics.tokens_per_second = static_cast<double>(tokens_per_step()) / metrics.step_seconds;
  if (config_.run.peak_flops > 0.0)
    metrics.mfu = metrics.tokens_per_second *
                  training_flops_per_token(config_.model, config_.data.sequence_length) /
                  (config_.run.peak_flops * grid_.size());
  metrics.skipped = !std::isfinite(metrics.grad_norm);
  update_loss_scale(metrics);
  if (metrics.skipped) report_skipped(metrics, running.input);
  if (metrics.skipped && running.output.late.pending()) optimizer_.go_on(stream_);
  bad_steps_.count(metrics, loss_scaler_);
  verdict_ = losses_.count(metrics.step, metrics.loss, !metrics.skipped);
  metrics.loss_spike = is_spike(verdict_);
  return metrics;
}

// Overflows of float16 are how its scale is found; other steps that are not finite are looked into,
// which takes as long as the step.
void Trainer::report_skipped(const StepMetrics& metrics, StepInput input) {
  if (metrics.loss_scale && std::isfinite(metrics.loss)) {
    if (leader())
      spdlog::warn("step {} skipped: gradients overflow float16 at loss scale {}, next scale {}",
                   metrics.step, *metrics.loss_scale, loss_scaler_.scale());
  } else {
    NonFiniteSearch search(finite_);
    input.search = &search;
    if (late_) load_batch(metrics.step);  // that of the next is there
    training_.run(input);
    const std::string first = search.first(grid_);
    if (leader())
      spdlog::warn("step {} skipped: loss {}, gradient norm {}; first not finite: {}", metrics.step,
                   metrics.loss, metrics.grad_norm, first);
  }
}

// It fails on all ranks alike. The step that was skipped has left the weights as they were.
void Trainer::update_loss_scale(const StepMetrics& metrics) {
  const std::int64_t step = metrics.step;
  const LossScaler before = loss_scaler_;
  try {
    loss_scaler_.update(metrics.skipped);
  } catch (const Error&) {
    loss_scaler_ = before;
    write_line(metrics);
    const bool trained = step > start_.step && before.skipped() < step;
    // Where the weights are not finite, an older file is to stay the newest.
    const bool worth = trained && finite_weights(finite_, stream_, store_, grid_);
    const std::string unsaved = worth ? save_at_failure(step) : std::string();
    if (!unsaved.empty() && leader())
      spdlog::error("no checkpoint after {} of {} steps: {}", step, config_.run.steps, unsaved);
    checkpoints_.finish();
    throw;
  }
}

StepInput Trainer::step_input(std::int64_t step, const LossScaler& scaler) {
  StepInput input;
  input.batch = &batch_;
  if (scaler.enabled()) input.fp16_scale = scaler.scale();
  input.loss_scale = static_cast<float>(scaler.scale() / static_cast<double>(tokens_per_step()));
  input.dropout_key =
      mix_key(mix_key(config_.run.seed, "dropout"), static_cast<std::uint64_t>(step));
  const std::int64_t updates = step - scaler.skipped();  // skipped steps count for nothing
  input.optimizer.learning_rate =
      learning_rate(config_.scheduler, config_.optimizer, updates, config_.run.steps);
  input.optimizer.beta1 = beta1_at(config_.scheduler, config_.optimizer, updates);
  input.optimizer.beta2 = beta2_at(config_.scheduler, config_.optimizer);
  input.optimizer.step = updates + 1;
  return input;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
// Validations of a Trainer: when they are due, the best checkpoint, and early stopping.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/executor/non_finite.hpp"
#include "src/launch/requeue.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {

bool Trainer::evaluation_ends(std::int64_t steps_done) const {
  const std::int64_t interval = config_.run.eval_interval;
  return evaluator_ && interval > 0 &&
         (steps_done % interval == 0 || steps_done == config_.run.steps);
}

// Returns the request that broke it off, if it `may_stop`. All evaluations read the same data, so
// unusable data fail the first one: a checkpoint under way is published before it.
RunRequest Trainer::evaluate(std::int64_t steps_done, bool may_stop) {
  if (evaluation_seconds_ == 0.0) checkpoints_.finish();
  grid_.board().set_step(steps_done - 1);
  const Clock::time_point begin = Clock::now();
  Clock::time_point batch = begin;
  const auto seconds_since = [](Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  };
  RunRequest request = RunRequest::none;
  std::optional<HeldOutLoss> held_out = evaluator_->loss([&] {
    request = look(seconds_since(batch));
    batch = Clock::now();
    return !may_stop || !stops(request);
  });
  if (!held_out) return request;
  evaluation_seconds_ = seconds_since(begin);
  const FileScope working(grid_.watch());
  held_out->loss = without_sign_of_nan(held_out->loss);
  if (leader()) record_->valid(steps_done - 1, *held_out, position(steps_done).tokens);
  if (losses_.within_limit(held_out->loss)) {
    losses_.prove(steps_done);
    checkpoints_.judge(losses_.within(), losses_.beyond());
  }
  heed_validation(steps_done, held_out->loss);
  return RunRequest::none;
}

void Trainer::restore_best(const CheckpointHeader& header) {
  best_.restore(resume_validation(header, job_.resolved));
  if (best_ && ending_.keep_best) (void)checkpoints_.keep_best(best_.steps());
}

// A checkpoint of the best weights is written where no interval has written it: bad steps have
// changed nothing, so it is that of the step before them.
void Trainer::heed_validation(std::int64_t steps_done, double loss) {
  if (best_.last() >= steps_done) return;  // made again: its lines were lost
  const bool lowest = best_.count(steps_done, loss, bad_steps_.in_a_row());
  if (!lowest || !ending_.keep_best) return;
  if (!checkpoints_.keep_best(best_.steps())) (void)save_or_continue(steps_done, false);
}

// The last validation ends the run: its state is saved as that of a last step.
RunEnd Trainer::end_early(std::int64_t steps_done) {
  check_end(steps_done);
  checkpoints_.finish();
  if (config_.checkpoint.at_end && checkpoints_.newest() != steps_done)
    (void)save_or_continue(steps_done, true);
  return RunEnd::early;
}

void Trainer::log_best() const {
  if (!leader() || !best_) return;
  if (best_.ends() && best_.last() < config_.run.steps)
    spdlog::info(
        "early stopping after {} of {} steps: {} validations in a row have not lowered the loss by "
        "more than {}. To train on, raise run.early_stopping.patience and rerun the command",
        best_.last(), config_.run.steps, best_.without(), ending_.threshold);
  const std::int64_t kept = checkpoints_.best();
  spdlog::info("lowest validation loss {:.4f} after step {}{}", best_.loss(), best_.steps(),
               kept < 0 ? "" : ": " + checkpoint_path(config_.checkpoint.directory, kept));
}

// Makes the evaluation that was due when the run before stopped or failed.
RunEnd Trainer::evaluate_if_missing() {
  if (start_.step == 0 || !evaluation_ends(start_.step)) return RunEnd::done;
  std::string made;
  if (leader() && record_->validation()) made = fmt::format("{}", *record_->validation());
  if (made = broadcast_text(grid_, made); !made.empty()) {
    // It came after the checkpoint, which does not know it.
    heed_validation(start_.step, std::stod(made));
    return best_.ends() ? RunEnd::early : RunEnd::done;
  }
  const RunRequest request = evaluate(start_.step, true);
  if (!stops(request)) return best_.ends() ? RunEnd::early : RunEnd::done;
  if (leader()) {
    record_->pause();
    spdlog::warn(
        "stopped by {} during the validation after {} of {} steps, before any new step. Rerun the "
        "same command. If validation takes longer than the job's time limit, set run.eval_steps",
        source_of(request), start_.step, config_.run.steps);
  }
  return RunEnd::stopped;
}

}  // namespace triax

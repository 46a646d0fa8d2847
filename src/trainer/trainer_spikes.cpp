// SPDX-License-Identifier: Apache-2.0
// Reaction of a Trainer to a loss spike: warning, stop or rollback.
#include <spdlog/spdlog.h>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/files/shell_word.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/checkpoint/resume_data.hpp"
#include "src/launch/run_directory.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {

std::string Trainer::spike_text(const StepMetrics& metrics) const {
  const LossSpikeConfig& config = losses_.config();
  return fmt::format(
      "the loss of step {}, {:.4f}, is more than {:g} x {:.4f}, the median of the last {} losses "
      "that were no spikes",
      metrics.number(), metrics.loss, config.factor, losses_.median(), config.window);
}

// Warns once for consecutive spikes, and tells checkpoints_ which files are sound.
void Trainer::heed_loss(const StepMetrics& metrics) {
  if (leader() && (verdict_ == LossVerdict::first_spike || verdict_ == LossVerdict::back)) {
    record_->pause();
    if (verdict_ == LossVerdict::back)
      spdlog::info(
          "the loss of step {}, {:.4f}, is within the spike limit ({:.4f}) again, as before step "
          "{}",
          metrics.number(), metrics.loss, losses_.limit(), losses_.first_spike() + 1);
    else
      spdlog::warn("{} (run.loss_spike)", spike_text(metrics));
  }
  checkpoints_.judge(losses_.within(), losses_.beyond());
}

bool Trainer::goes_back(const StepMetrics& metrics) const {
  return metrics.loss_spike && config_.run.loss_spike.action == SpikeAction::rollback;
}

// Newest checkpoint of at most `steps` steps, among them the one that the run began from; empty if
// there is none. As rank 0 sees the directory. Those within losses_.within() steps are sound: their
// weights have led to a loss within the spike limit.
std::string Trainer::checkpoint_within(std::int64_t steps) {
  std::string found;
  agreed(grid_, [&] {
    if (!leader()) return;
    for (const std::string& file : list_checkpoints(config_.checkpoint.directory))
      if (found.empty() && checkpoint_step(file) <= steps) found = file;
    if (start_.resumed_from.empty() || start_.step > steps) return;
    if (found.empty() || checkpoint_step(found) < start_.step) found = start_.resumed_from;
  });
  return broadcast_text(grid_, found);
}

// Why there is no sound checkpoint of the steps before a spike.
std::string Trainer::unsound_text(const StepMetrics& metrics) {
  const std::string file = checkpoint_within(metrics.step);
  if (file.empty()) return "there is no checkpoint from before it";
  return fmt::format(
      "no checkpoint from before it has a loss within the spike limit; the newest of them is {}",
      file);
}

void Trainer::stop_at_spike(const StepMetrics& metrics) {
  checkpoints_.finish();
  const std::string file = sound_checkpoint();
  const std::string samples = fmt::format("samples {} to {}", position(metrics.step).samples,
                                          position(metrics.step + 1).samples - 1);
  if (file.empty())
    throw Error(spike_text(metrics), "run.loss_spike.action is \"stop\"; " + unsound_text(metrics),
                fmt::format("Lower the learning rate, or look at the data of the step ({}). Set "
                            "checkpoint.interval for runs that must continue after a spike",
                            samples));
  throw Error(
      spike_text(metrics),
      fmt::format("run.loss_spike.action is \"stop\"; {} is the newest checkpoint from before it",
                  file),
      fmt::format("Look at the data of the step ({}), or lower the learning rate, and resume with "
                  "--set {}; run.loss_spike.action \"rollback\" skips the data",
                  samples, shell_word("checkpoint.resume=" + file)));
}

// A step still running is lost: its changes are overwritten by the checkpoint. Losses and loss
// scale come from the checkpoint, but the samples are those after the spike.
std::int64_t Trainer::roll_back(const StepMetrics& metrics) {
  const FileScope working(grid_.watch());
  checkpoints_.finish();
  checkpoints_.give_back_memory();  // loading takes some
  grid_.drain(rank_.stream);
  if (rank_.optimizer.decides_on_device())
    rank_.optimizer.rearm(rank_.stream);  // if that step was not finite
  RollbackMetrics rollback;
  rollback.number = losses_.count_rollback(metrics.step);
  if (rollback.number == 0) throw too_many_rollbacks(metrics);
  rollback.checkpoint = sound_checkpoint();
  if (rollback.checkpoint.empty())
    throw Error(spike_text(metrics), "it cannot be rolled back: " + unsound_text(metrics),
                "Lower the learning rate, or set a smaller checkpoint.interval");
  rollback.spike_step = metrics.step;
  rollback.spike_loss = metrics.loss;
  rollback.sample = position(metrics.step + 1).samples;
  BlendState data = rank_.train_data.state_at(rollback.sample);
  CheckpointConfig there = config_.checkpoint;
  there.resume = rollback.checkpoint;
  const std::optional<CheckpointReader> reader = checkpoint_to_resume(grid_, there);
  steps_.loss_scaler() = LossScaler(config_.precision.loss_scale);
  restore(*reader);
  losses_.go_back(resume_losses(reader->header(), job_.resolved), start_.step);
  bad_steps_ = BadSteps(steps_.loss_scaler());
  rollback.step = start_.step;
  rollback.samples_skipped = rollback.sample - start_.sample;
  start_.sample = rollback.sample;
  rank_.train_data.set_state(with_weights(std::move(data), config_, start_.step));
  checkpoints_.go_back();
  restore_best(reader->header());
  agreed(grid_, [&] {
    if (leader()) record_rollback(rollback);
  });
  return start_.step;
}

// The checkpoint of the rollback is the newest, so the next run makes the same steps and the same
// rollback.
RunEnd Trainer::stop_behind_rollback() {
  report_stop(start_.step, step_summary_.request, {});
  return RunEnd::stopped;
}

Error Trainer::too_many_rollbacks(const StepMetrics& metrics) const {
  return Error(spike_text(metrics),
               fmt::format("{} rollbacks (run.loss_spike.max_rollbacks) were made here, and the "
                           "loss rose again with other samples",
                           config_.run.loss_spike.max_rollbacks),
               "Lower the learning rate, set gradient_clipping, or resume an earlier checkpoint");
}

// Removes lines and checkpoints of steps that are made again.
void Trainer::record_rollback(const RollbackMetrics& rollback) {
  record_->pause();
  spdlog::warn(
      "back to {}, after {} of {} steps: rollback {} of {} at most in a row. Samples {} to {} are "
      "skipped",
      rollback.checkpoint, rollback.step, config_.run.steps, rollback.number,
      config_.run.loss_spike.max_rollbacks, rollback.sample - rollback.samples_skipped,
      rollback.sample - 1);
  set_aside_after(rollback.step);
  record_->sync();
  record_.emplace(config_, outputs_, rollback.step);
  record_->rollback(rollback);
}

}  // namespace triax

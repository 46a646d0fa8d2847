// SPDX-License-Identifier: Apache-2.0
// Work of a Trainer between steps: checkpoints, and the end by bad steps.
#include <spdlog/spdlog.h>

#include <array>
#include <nlohmann/json.hpp>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "io/files/shell_word.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/checkpoint/resume_data.hpp"
#include "src/executor/non_finite.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "src/launch/requeue.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {

// Value of rank 0, on every rank: other ranks may see an older directory.
bool Trainer::leader_says(bool what) const {
  return !broadcast_text(grid_, what ? "yes" : "").empty();
}

// Weightiest request of any rank, which stays for the next step summary. Publishes a checkpoint
// whose background write has ended.
RunRequest Trainer::look(double ahead) {
  std::array<double, 2> told = {static_cast<double>(requests_.look(ahead)),
                                checkpoints_.writing() ? 1.0 : 0.0};
  const Stream host;
  grid_.world().all_reduce(host, Tensor(told.data(), {std::ssize(told)}), ReduceOp::max).wait(host);
  checkpoints_.proceed(told[1] > 0.0);
  return static_cast<RunRequest>(told[0]);
}

// Ends a run whose steps are all done; the evaluation after the last one may be missing.
RunEnd Trainer::end_again(RunRequests::Clock::time_point started) {
  agreed(grid_, [&] {
    const bool due = start_.step == config_.run.steps && evaluation_ends(start_.step);
    const bool unknown = ending_.keep_best && best_.last() < start_.step;
    if (!leader() || !due || !(unknown || ends_before_validation(config_, start_.step))) return;
    requests_.leave_at(leaving_time(config_.run, started, surroundings()));
    record_.emplace(config_, outputs_, start_.step);
  });
  if (leader_says(record_.has_value())) {
    choose_messages();
    if (evaluate_if_missing() == RunEnd::stopped) return RunEnd::stopped;
    agreed(grid_, [&] {
      if (leader()) record_->close(true);
    });
  }
  if (leader()) report_nothing_to_do(config_, start_, job_.config.checkpoint.resume);
  log_best();
  export_weights(start_.resumed_from);
  return RunEnd::done;
}

void Trainer::report_stop(std::int64_t steps_done, RunRequest request, const std::string& unsaved) {
  if (leader()) {
    record_->pause();
    record_->event("stop",
                   {{"step", steps_done}, {"by", source_of(request)}, {"unsaved", unsaved}});
  }
  if (!unsaved.empty())
    throw Error(fmt::format("stopped by {} after {} of {} steps without a checkpoint",
                            source_of(request), steps_done, config_.run.steps),
                unsaved, "Rerun the same command: it begins where this run began");
  if (leader())
    spdlog::warn("stopped by {} after {} of {} steps: {}", source_of(request), steps_done,
                 config_.run.steps, resume_hint(config_.checkpoint, batch_job(surroundings())));
}

// Fails a run whose steps are done, if its last steps were bad or broke the weights.
void Trainer::check_end(std::int64_t steps_done) {
  if (bad_steps_.in_a_row() > 0) stop_after_bad_steps(steps_done);
  if (steps_.weights_are_finite()) return;
  checkpoints_.finish();
  throw bad_steps_.error_of_weights(steps_done);
}

void Trainer::stop_after_bad_steps(std::int64_t steps_done) {
  throw bad_steps_.error(steps_done, save_at_failure(steps_done));
}

// Sets aside checkpoints of ruined weights, with which no batch has a finite loss, so that the next
// run resumes a sound one, or begins anew. Returns what happened; empty where the weights may be
// sound: also those that a run resumed and whose losses it computes in another way, and, if no
// older checkpoint is sound, those of a run that has made more good steps than bad ones.
std::string Trainer::leave_ruined(std::int64_t step) {
  if (step == 0 || !bad_steps_.losses_not_finite() || step <= losses_.within()) return {};
  if (step == start_.step && start_.other_losses) return {};
  std::string file = sound_checkpoint();
  const bool sound = !file.empty();
  if (!sound && bad_steps_.in_a_row() < step - start_.step) return {};
  if (!sound) file = checkpoint_within(step - 1);
  const std::int64_t begin = file == start_.resumed_from ? start_.step : checkpoint_step(file);
  agreed(grid_, [&] {
    if (leader()) set_aside_after(file.empty() ? 0 : begin);
  });
  return fmt::format("no batch has a finite loss with the weights that step {} left; {}", step,
                     after_ruined(file, sound));
}

// The start of the next run, in words. `file`: its checkpoint, empty: none.
std::string Trainer::after_ruined(const std::string& file, bool sound) const {
  const CheckpointConfig& checkpoint = config_.checkpoint;
  if (file.empty())
    return fmt::format("no other checkpoint is there: {}",
                       own_checkpoints_ && checkpoint.resume == "auto"
                           ? "rerun the same command to begin anew"
                           : "rerun with --set checkpoint.resume=never to begin anew");
  const bool newest = own_checkpoints_ &&  // else the ruined one still is
                      file == checkpoint_path(checkpoint.directory, checkpoint_step(file));
  return fmt::format(
      "{} is the newest checkpoint with a {}: {}", file,
      sound ? "loss within the spike limit" : "finite loss",
      newest ? resume_hint(checkpoint, batch_job(surroundings()))
             : fmt::format("rerun with --set {}", shell_word("checkpoint.resume=" + file)));
}

// Returns what the error says of checkpoints; empty if there is one of the steps done, or none was
// due.
std::string Trainer::save_at_failure(std::int64_t steps_done) {
  checkpoints_.finish();
  if (std::string ruined = leave_ruined(steps_done - bad_steps_.in_a_row()); !ruined.empty())
    return ruined;
  try {
    if (!writes_checkpoints(config_.checkpoint)) return {};
    (void)save(steps_done, true);
  } catch (const Error& error) {
    return fmt::format("there is no checkpoint: {}", error.what());
  }
  return {};
}

// Saves before a stop, unless the checkpoint of this step was written in the background.
std::string Trainer::save_behind(std::int64_t steps_done) {
  checkpoints_.finish();
  const bool there = checkpoints_.newest() == steps_done - bad_steps_.in_a_row();
  return there ? std::string() : save_asked(steps_done, true);
}

// Writes nothing into the directory of another run.
std::string Trainer::save_asked(std::int64_t steps_done, bool wait) {
  if (own_checkpoints_) return save_or_continue(steps_done, wait);
  std::string why = fmt::format(
      "{} lies outside run.directory, and this job writes nothing there: checkpoint.interval is 0 "
      "and checkpoint.at_end false",
      config_.checkpoint.directory);
  if (leader() && !wait) {
    record_->pause();
    spdlog::error("no checkpoint after {} of {} steps, training goes on: {}", steps_done,
                  config_.run.steps, why);
  }
  return why;
}

// A failed write ends only a run that would otherwise leave no checkpoint. All ranks see the same
// error.
std::string Trainer::save_or_continue(std::int64_t steps_done, bool wait) {
  try {
    return save(steps_done, wait);
  } catch (const Error& error) {
    if (wait) throw;
    if (leader())
      spdlog::error("no checkpoint after {} of {} steps, training goes on: {}", steps_done,
                    config_.run.steps, error.what());
    return error.what();
  }
}

// Bad steps changed nothing, so in the middle of them the checkpoint is that of the step before
// them. If weights are not finite (an update breaks them before a step is bad), an older checkpoint
// stays the newest.
std::string Trainer::save(std::int64_t steps_done, bool wait) {
  const std::int64_t bad = bad_steps_.in_a_row();
  const std::int64_t step = steps_done - bad;
  const bool first = step == start_.step;
  if ((bad > 0 && first) || !steps_.weights_are_finite()) {
    std::string why = bad_steps_.nothing_to_save(steps_done, first);
    if (leader())
      spdlog::warn("no checkpoint after {} of {} steps: {}", steps_done, config_.run.steps, why);
    checkpoints_.finish();  // an older checkpoint that is still being written
    bool older = false;
    agreed(grid_,
           [&] { older = leader() && !list_checkpoints(config_.checkpoint.directory).empty(); });
    return leader_says(older) ? std::string() : why;
  }
  const std::string scale = (bad > 0 ? bad_steps_.scaler_before() : steps_.loss_scaler()).state();
  RunPosition at = position(step);
  at.losses = losses_.state();
  if (best_) at.validation = best_.state();
  at.data_state = data_state_text(rank_.train_data, at.samples);
  if (wait)
    checkpoints_.save(rank_.stream, at, scale);
  else
    checkpoints_.start(rank_.stream, at, scale);
  return {};
}

}  // namespace triax

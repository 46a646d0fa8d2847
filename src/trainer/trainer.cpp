// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/trainer.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/config/preference.hpp"
#include "src/data/mixture/source_plan.hpp"
#include "src/huggingface/final_export.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "src/launch/requeue.hpp"
#include "src/launch/run_directory.hpp"
#include "src/trainer/choose_tokenizer.hpp"
#include "src/trainer/report/run_costs.hpp"
#include "src/trainer/start_up.hpp"
#include "src/version/version.hpp"

namespace triax {

namespace {

LoadedJob with_tokenizer(LoadedJob job, const RunTokenizer& tokenizer) {
  job.resolved = with_tokenizer_hash(job.resolved, tokenizer.hash);
  return job;
}

nlohmann::ordered_json kinds_json(const KindBytes& bytes) {
  nlohmann::ordered_json out;
  for (const MemoryKind& kind : memory_kinds) out[std::string(kind.name)] = bytes.*kind.bytes;
  return out;
}

}  // namespace

Trainer::Trainer(const LoadedJob& job, ProcessGrid& grid, std::optional<JobPlan> plan,
                 RunTokenizer tokenizer)
    : job_(with_tokenizer(job, tokenizer)),
      grid_(grid),
      rank_(job_.config, grid, std::move(plan)),
      config_(rank_.config),
      outputs_(output_config(job_.resolved)),
      steps_(rank_, outputs_.trace),
      checkpoints_(config_, job_.resolved, grid, rank_.store, rank_.optimizer,
                   std::move(tokenizer)),
      bad_steps_(steps_.loss_scaler()),
      losses_(config_.run.loss_spike),
      ending_(ending_config(job_.resolved)),
      best_(ending_),
      texts_(grid, rank_.plan.steps, start_text) {
  if (!config_.data.valid.empty())
    evaluator_.emplace(
        open_reader(config_, grid, config_.data.valid, false, config_.run.eval_interval > 0),
        config_, rank_.shape,
        Executor(rank_.stream, rank_.plan.steps.evaluation[rank_.stage_index()], rank_.stage,
                 rank_.layout, rank_.shape, rank_.buffers, rank_.messages, rank_.store, nullptr,
                 grid),
        grid, rank_.arena.get());
  if (needs_reference(config_)) reference_.emplace(rank_);
  if (rank_.arena) rank_.arena->check_full();
  rank_.store.make_groups();
  prepare_weights();
  bad_steps_ = BadSteps(steps_.loss_scaler());
}

RunEnd Trainer::run(RunRequests::Clock::time_point started) {
  if (!has_steps()) return end_again(started);
  const std::vector<std::string> hosts = gather_hosts(grid_);
  choose_messages();
  agreed(grid_, [&] {
    if (leader()) open_outputs(hosts, started);
  });
  own_checkpoints_ = leader_says(owns_checkpoints(config_));
  RunEnd end = evaluate_if_missing();
  const Clock::time_point begin = Clock::now();
  checkpoints_.judge(losses_.within(), losses_.beyond());
  std::int64_t step = start_.step;
  while (step < config_.run.steps && end == RunEnd::done) step = make_step(step, end);
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  record_trace();  // of a run that stopped within the traced steps
  checkpoints_.finish();
  checkpoints_.log_unproven();
  checkpoints_.give_back_memory();
  if (leader()) record_->pause();
  report_messages(grid_, seconds.count());
  if (!straggler_named_) report_straggler(step, seconds.count());
  if (end != RunEnd::stopped) {
    log_best();
    export_weights(checkpoints_.newest() == step
                       ? checkpoint_path(config_.checkpoint.directory, step)
                       : std::string());
  }
  const MemoryReport memory = report_memory(grid_, rank_.plan, allocations());
  agreed(grid_, [&] {
    if (!leader()) return;
    record_->event("memory", {{"rank", memory.rank},
                              {"planned", kinds_json(memory.planned)},
                              {"used", kinds_json(memory.used)}});
    if (end != RunEnd::stopped) record_->event("done", {{"step", step}});
    record_->close(end != RunEnd::stopped);
  });
  return end;
}

void Trainer::open_outputs(const std::vector<std::string>& hosts,
                           RunRequests::Clock::time_point started) {
  requests_.leave_at(logged_leaving_time(config_.run, started));  // rank 0's clock is the job's
  log_run_summary({job_, grid_, rank_.plan, start_, rank_.train_data,
                   evaluator_ ? evaluator_->samples() : 0, rank_.optimizer, rank_.store});
  set_aside_after(start_.step);
  if (!start_.resumed_from.empty()) checkpoints_.resumed(start_.resumed_from, start_.step);
  if (losses_.within() + 1 < start_.step)
    spdlog::warn(
        "{}: its losses were not finite or above the spike limit (run.loss_spike.factor) from step "
        "{} on. If they stay so, resume a checkpoint of at most {} steps (--set "
        "checkpoint.resume=FILE)",
        start_.resumed_from, losses_.within() + 2, losses_.within());
  // Only now: the checkpoints that are left belong to this batch job.
  prepare_run_directory(job_, hosts, batch_job(surroundings()), start_.step);
  record_.emplace(config_, outputs_, start_.step);
  checkpoints_.before_messages([this] { record_->pause(); });
  checkpoints_.before_publishing([this] { record_->sync(); });
  checkpoints_.after_publishing([this](std::int64_t step, const std::string& file, double seconds) {
    nlohmann::ordered_json fields = {{"step", step}, {"file", file}, {"seconds", seconds}};
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file, unknown);
    if (!unknown && config_.checkpoint.files == 1) fields["bytes"] = bytes;
    record_->event("checkpoint", fields);
  });
  record_->event("start", {{"step", start_.step},
                           {"steps", config_.run.steps},
                           {"ranks", grid_.size()},
                           {"grid", grid_.shape().text()},
                           {"devices", grid_.devices()},
                           {"hosts", hosts},
                           {"version", version},
                           {"resumed_from", start_.resumed_from}});
}

// Later checkpoints belong to a course of training that this run leaves, as do later lines of
// metrics.jsonl.
void Trainer::set_aside_after(std::int64_t step) const {
  if (!owns_checkpoints(config_)) return;
  for (const std::string& other : set_aside_later(config_.checkpoint.directory, step))
    spdlog::warn("{} is newer than the resume point, step {}: renamed to *.superseded", other,
                 step);
}

void Trainer::write_line(const StepMetrics& metrics) {
  if (!leader() || !record_) return;  // tests make steps outside of a run
  const FileScope working(grid_.watch());
  if (!rank_.train_data.blends()) return record_->step(metrics);
  StepMetrics with_epochs = metrics;
  with_epochs.epochs = source_epochs(rank_.train_data, position(metrics.number()).samples);
  record_->step(with_epochs);
}

void Trainer::record(const StepMetrics& metrics) {
  write_line(metrics);
  heed_loss(metrics);
  if (metrics.loss_spike && config_.run.loss_spike.action == SpikeAction::stop)
    stop_at_spike(metrics);
  if (bad_steps_.in_a_row() > config_.run.max_bad_steps) stop_after_bad_steps(metrics.number());
}

Trainer::Due Trainer::due_after(std::int64_t step) const {
  const std::int64_t done = step + 1;
  const std::int64_t interval = config_.checkpoint.interval;
  Due due;
  due.last = done == config_.run.steps;
  due.evaluation = evaluation_ends(done);
  // After the last step only an evaluation is left to stop, which needs a checkpoint to resume
  // from.
  due.stop = stops(step_summary_.request) && (!due.last || (due.evaluation && own_checkpoints_));
  const bool by_user = step_summary_.request != RunRequest::none &&
                       step_summary_.request != RunRequest::stop_time_up;
  due.asked = due.stop || (by_user && (!due.last || own_checkpoints_));
  due.interval = interval > 0 && done % interval == 0;
  return due;
}

// The checkpoint comes before the evaluation: the next run makes up for an evaluation that failed.
RunEnd Trainer::after_step(std::int64_t step, const Due& due) {
  const std::int64_t done = step + 1;
  name_straggler(step);
  checkpoints_.proceed(step_summary_.writing);
  if (due.last) check_end(done);
  const bool file =
      (due.last && config_.checkpoint.at_end) || (due.interval && bad_steps_.in_a_row() == 0);
  std::string unsaved;
  if (due.asked)
    unsaved = save_asked(done, due.stop || due.last);
  else if (file)
    unsaved = save_or_continue(done, due.last);
  RunRequest request = due.stop ? step_summary_.request : RunRequest::none;
  if (due.evaluation && !due.stop) {
    request = evaluate(done, !due.last || own_checkpoints_);
    if (stops(request)) unsaved = save_behind(done);
  }
  if (!stops(request))
    return due.evaluation && !due.last && best_.ends() ? end_early(done) : RunEnd::done;
  report_stop(done, request, unsaved);
  return RunEnd::stopped;
}

// The best file is exported instead, where the run keeps it.
void Trainer::export_weights(const std::string& checkpoint) {
  const FileScope working(grid_.watch());
  const std::int64_t best = checkpoints_.best();
  if (config_.checkpoint.export_at_end)
    export_at_end(rank_.stream, config_,
                  best < 0 ? checkpoint : checkpoint_path(config_.checkpoint.directory, best),
                  rank_.store, grid_, checkpoints_.tokenizer());
}

RunPosition Trainer::position(std::int64_t steps_done) const {
  const std::int64_t done = steps_done - start_.step;
  return {steps_done, start_.token + done * rank_.tokens_per_step(),
          start_.sample + done * config_.batch.global, rank_.train_data.tokens()};
}

}  // namespace triax

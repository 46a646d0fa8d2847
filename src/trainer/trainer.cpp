#include "src/trainer/trainer.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "src/checkpoint/resume_changes.hpp"
#include "src/huggingface/final_export.hpp"
#include "src/launch/batch_job.hpp"
#include "src/launch/offload_place.hpp"
#include "src/launch/own_checkpoints.hpp"
#include "src/launch/run_directory.hpp"
#include "src/state/weights/initial_weights.hpp"

namespace triax {
namespace {

// Takes all memory of a run on a device, and gives its stream what kernels want for themselves.
std::unique_ptr<DeviceArena> take_device(const PlacedConfig& config, const StepPlans& plans,
                                         const ProcessGrid& grid, const Stream& stream) {
  if (stream.space() == MemorySpace::host) return nullptr;
  const Stage stage = make_stage(config, grid.pipeline_rank(), grid.tensor_rank(), StageUse::plan);
  auto arena =
      std::make_unique<DeviceArena>(arena_parts(planned_allocations(config, plans, stage)));
  cuda::furnish(stream, {MemorySpace::device, arena.get()});
  return arena;
}

StateOptions in_arena(StateOptions options, DeviceArena* arena) {
  options.arena = arena;
  return options;
}

BufferPlan in_arena(BufferPlan plan, DeviceArena* arena) {
  plan.arena = arena;
  return plan;
}

// `used`: by steps or evaluations.
TokenReader open_reader(const Config& config, const ProcessGrid& grid,
                        const std::vector<std::string>& files, bool shuffle, bool used) {
  TokenReader reader(files, config.data.sequence_length, shuffle, config.data.seed, grid);
  reader.set_vocabulary(config.model.vocabulary);
  agreed(grid, [&] {  // another tokenizer's tokens, before the first validation comes to them
    if (used && grid.rank() == 0) reader.check_ends();
  });
  return reader;
}

}  // namespace

Trainer::Trainer(const LoadedJob& job, ProcessGrid& grid, std::optional<JobPlan> plan)
    : job_(job),
      grid_(grid),
      plan_(plan ? *std::move(plan) : plan_job(on_grid(job.config, grid))),
      config_(plan_.config),
      stream_(config_.place.space),
      arena_(take_device(config_, plan_.steps, grid, stream_)),
      stage_(make_stage(config_, grid.pipeline_rank(), grid.tensor_rank(), StageUse::run,
                        arena_.get())),
      shape_(batch_shape(config_, stage_.place().tensor)),
      layout_(plan_.steps.shape, grid.pipeline_rank()),
      train_reader_(open_reader(config_, grid, config_.data.train, config_.data.shuffle, true)),
      store_(stage_, grid, in_arena(parameters_on(grid, config_), arena_.get()),
             whole_buffers(plan_.steps, stage_index())),
      optimizer_(store_, config_.optimizer, config_.gradient_clipping,
                 optimizer_on(grid, config_, plan_.steps)),
      checkpoints_(config_, job_.resolved, grid, store_, optimizer_),
      loss_scaler_(config_.precision.loss_scale),
      bad_steps_(loss_scaler_),
      losses_(config_.run.loss_spike),
      buffer_plan_(in_arena(
          plan_buffers(stage_, shape_, config_.model.hidden, plan_.steps.peaks[stage_index()],
                       plan_.steps.shape.frame_pool[stage_index()]),
          arena_.get())),
      buffers_(buffer_plan_, layout_, plan_.steps.shape.microbatches,
               {shape_.local_rows, config_.model.hidden}, shape_.type,
               plan_.steps.shape.frame_pool[stage_index()]),
      messages_(grid.pipeline(), layout_, plan_.steps.shape.microbatches),
      batch_(train_reader_, config_.batch, shape_, config_.parallel.data, grid.data_rank(),
             arena_.get()),
      texts_(grid, plan_.steps),
      share_(grid),
      finite_(store_.memory(), grid),
      training_(stream_, plan_.steps.training[stage_index()], stage_, layout_, shape_, buffers_,
                messages_, store_, &optimizer_, grid) {
  if (!config_.data.valid.empty())
    evaluator_.emplace(
        open_reader(config_, grid, config_.data.valid, false, config_.run.eval_interval > 0),
        config_, shape_,
        Executor(stream_, plan_.steps.evaluation[stage_index()], stage_, layout_, shape_, buffers_,
                 messages_, store_, nullptr, grid),
        grid, arena_.get());
  if (arena_) arena_->check_full();
  store_.make_groups();
  prepare_weights();
  bad_steps_ = BadSteps(loss_scaler_);
}

std::size_t Trainer::stage_index() const {
  return static_cast<std::size_t>(grid_.pipeline_rank());
}

void Trainer::prepare_weights() {
  const FileScope working(grid_.watch());
  if (const std::optional opened = checkpoint_to_resume(grid_, config_.checkpoint)) {
    const CheckpointReader& reader = *opened;
    check_same_model(reader, config_.model, grid_);
    restore(reader);
    losses_.restore(resume_losses(reader.header(), job_.resolved), start_.step);
    start_.changes =
        resume_changes(reader.header(), job_, train_reader_, start_.step - loss_scaler_.skipped());
    start_.fresh_optimizer = !has_optimizer(reader, config_.model);
  } else if (!config_.model.weights.empty()) {
    start_.weights =
        load_weights(stream_, store_, config_.model, config_.model.weights, &optimizer_);
  } else {
    initialize_weights(stream_, store_, config_.run.seed, &optimizer_);
  }
}

// Of a checkpoint of the same model: all but its losses.
void Trainer::restore(const CheckpointReader& reader) {
  try {
    restore_checkpoint(stream_, reader, config_.model, store_, &optimizer_, grid_,
                       buffers_.idle_memory());
  } catch (const Error&) {
    check_whole(grid_, reader.path(), config_.checkpoint.directory);  // says which one is
    throw;
  }
  start_.step = reader.header().step;
  start_.sample = resume_sample(reader.header(), config_.data, train_reader_);
  start_.token = reader.header().tokens;
  start_.resumed_from = reader.path();
  loss_scaler_.restore(reader.header().loss_scale);
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
  for (std::int64_t step = start_.step; step < config_.run.steps && end == RunEnd::done;)
    step = make_step(step, end);
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  checkpoints_.finish();
  checkpoints_.give_back_memory();
  if (leader()) record_->pause();
  report_messages(grid_, seconds.count());
  report_straggler(grid_, seconds.count());
  if (end == RunEnd::done)
    export_weights(checkpoints_.newest() == config_.run.steps
                       ? checkpoint_path(config_.checkpoint.directory, config_.run.steps)
                       : std::string());
  report_memory(grid_, plan_, allocations());
  agreed(grid_, [&] {
    if (leader()) record_->close(end == RunEnd::done);
  });
  return end;
}

Allocations Trainer::allocations() const {
  return {store_.bytes(),
          optimizer_.allocated(),
          buffers_.memory(),
          batch_bytes(config_, shape_),
          stage_.table_bytes(),
          number_bytes(config_),
          plan_bytes(plan_.steps),
          staging_of(config_, store_.blocks()),
          checkpoints_.snapshot_bytes(),
          stream_.space()};
}

void Trainer::open_outputs(const std::vector<std::string>& hosts,
                           RunRequests::Clock::time_point started) {
  requests_.leave_at(announced_leaving_time(config_.run, started));  // rank 0's clock is the job's
  announce({job_, grid_, plan_, start_, train_reader_, evaluator_ ? evaluator_->samples() : 0,
            optimizer_, store_});
  set_later_aside();
  if (!start_.resumed_from.empty()) checkpoints_.resumed(start_.resumed_from, start_.step);
  if (losses_.within() + 1 < start_.step)
    spdlog::warn(
        "{}: its losses were beyond reason from step {} on. Where they stay so, resume a file of "
        "at most {} steps (--set checkpoint.resume=FILE)",
        start_.resumed_from, losses_.within() + 1, losses_.within());
  // After that: what is left there may now be taken for this batch job's own.
  prepare_run_directory(job_, hosts, batch_job(surroundings()), start_.step);
  record_.emplace(config_, start_.step);
  checkpoints_.before_messages([this] { record_->pause(); });
  checkpoints_.before_publishing([this] { record_->sync(); });
}

// Later checkpoints are of a run that this one leaves behind, as are the later lines of
// metrics.jsonl.
void Trainer::set_later_aside() const {
  if (!owns_checkpoints(config_)) return;
  for (const std::string& other : set_aside_later(config_.checkpoint.directory, start_.step))
    spdlog::warn(
        "{} is after more than the {} steps that this run goes on from: set aside, as *.superseded",
        other, start_.step);
}

std::int64_t Trainer::tokens_per_step() const {
  return config_.batch.global * config_.data.sequence_length;
}

void Trainer::write_line(const StepMetrics& metrics) {
  if (!leader() || !record_) return;  // tests make steps outside of a run
  const FileScope working(grid_.watch());
  record_->step(metrics);
}

void Trainer::record(const StepMetrics& metrics) {
  write_line(metrics);
  heed_loss(metrics);
  if (metrics.loss_spike && config_.run.loss_spike.action == SpikeAction::stop)
    stop_at_spike(metrics);
  if (bad_steps_.in_a_row() > config_.run.max_bad_steps) stop_after_bad_steps(metrics.step + 1);
}

Trainer::Due Trainer::due_after(std::int64_t step) const {
  const std::int64_t done = step + 1;
  const std::int64_t interval = config_.checkpoint.interval;
  Due due;
  due.last = done == config_.run.steps;
  due.evaluation = evaluation_ends(done);
  // The last step leaves nothing to stop but its evaluation, and that needs a file to go on from.
  due.stop = stops(told_.request) && (!due.last || (due.evaluation && own_checkpoints_));
  const bool by_user =
      told_.request != RunRequest::none && told_.request != RunRequest::stop_time_up;
  due.asked = due.stop || (by_user && (!due.last || own_checkpoints_));
  due.interval = interval > 0 && done % interval == 0;
  return due;
}

// The file comes first: an evaluation may fail, and is made good by the next run.
RunEnd Trainer::after_step(std::int64_t step, const Due& due) {
  const std::int64_t done = step + 1;
  name_straggler(step);
  checkpoints_.proceed(told_.writing);
  if (due.last) check_end(done);
  const bool file =
      (due.last && config_.checkpoint.at_end) || (due.interval && bad_steps_.in_a_row() == 0);
  // No step comes behind the last file: the loss before it has to do.
  if (due.last && !losses_.beyond()) checkpoints_.judge(done, false);
  std::string unsaved;
  if (due.asked)
    unsaved = save_asked(done, due.stop || due.last);
  else if (file)
    unsaved = save_or_go_on(done, due.last);
  RunRequest request = due.stop ? told_.request : RunRequest::none;
  if (due.evaluation && !due.stop) {
    request = evaluate(done, !due.last || own_checkpoints_);
    if (stops(request)) unsaved = save_behind(done);
  }
  if (!stops(request)) return RunEnd::done;
  report_stop(done, request, unsaved);
  return RunEnd::stopped;
}

void Trainer::export_weights(const std::string& checkpoint) {
  const FileScope working(grid_.watch());
  if (config_.checkpoint.export_at_end) export_at_end(stream_, config_, checkpoint, store_, grid_);
}

RunPosition Trainer::position(std::int64_t steps_done) const {
  const std::int64_t done = steps_done - start_.step;
  return {steps_done, start_.token + done * tokens_per_step(),
          start_.sample + done * config_.batch.global, train_reader_.tokens()};
}

}  // namespace triax

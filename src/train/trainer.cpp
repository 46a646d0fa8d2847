#include "src/train/trainer.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cmath>
#include <utility>

#include "io/agree.hpp"
#include "kernels/random.hpp"
#include "src/state/initial_weights.hpp"
#include "src/train/dry_run.hpp"
#include "src/train/job_changes.hpp"
#include "src/train/lr_schedule.hpp"
#include "src/train/offload_place.hpp"
#include "src/train/process_memory.hpp"
#include "src/train/run_directory.hpp"
#include "src/train/version.hpp"

namespace triax {
namespace {

TokenReader open_reader(const Config& config, const std::vector<std::string>& files, bool shuffle) {
  TokenReader reader(files, config.data.sequence_length, shuffle, config.data.seed);
  reader.set_vocabulary(config.model.vocabulary);
  return reader;
}

}  // namespace

Trainer::Trainer(const LoadedJob& job, ProcessGrid& grid, JobPlan plan)
    : job_(on_grid(job, grid)),
      config_(job_.config),
      grid_(grid),
      plan_(std::move(plan)),
      stage_(make_stage(config_, grid.pipeline_rank(), grid.tensor_rank())),
      shape_(batch_shape(config_, stage_.place().tensor)),
      layout_(plan_.steps.shape, grid.pipeline_rank()),
      train_reader_(open_reader(config_, config_.data.train, config_.data.shuffle)),
      store_(stage_, grid, parameters_on(grid, config_), whole_buffers(plan_.steps, stage_index())),
      optimizer_(store_, config_.optimizer, config_.gradient_clipping,
                 optimizer_on(grid, config_, plan_.steps)),
      loss_scaler_(config_.precision.loss_scale),
      buffer_plan_(plan_buffers(stage_, shape_, config_.model.hidden,
                                plan_.steps.peaks[stage_index()],
                                plan_.steps.shape.frame_pool[stage_index()])),
      buffers_(buffer_plan_, layout_, plan_.steps.shape.microbatches,
               {shape_.local_rows, config_.model.hidden}, shape_.type,
               plan_.steps.shape.frame_pool[stage_index()]),
      messages_(grid.pipeline(), layout_, plan_.steps.shape.microbatches),
      batch_(train_reader_, config_.batch, shape_, config_.parallel.data, grid.data_rank()),
      training_(stream_, plan_.steps.training[stage_index()], stage_, layout_, shape_, buffers_,
                messages_, store_, &optimizer_, grid) {
  if (!config_.data.valid.empty())
    evaluator_.emplace(open_reader(config_, config_.data.valid, false), config_, shape_,
                       Executor(stream_, plan_.steps.evaluation[stage_index()], stage_, layout_,
                                shape_, buffers_, messages_, store_, nullptr, grid),
                       grid);
  prepare_weights();
}

std::size_t Trainer::stage_index() const {
  return static_cast<std::size_t>(grid_.pipeline_rank());
}

void Trainer::prepare_weights() {
  if (const std::string file = agreed_resume_file(grid_, config_.checkpoint); !file.empty()) {
    const CheckpointReader reader(file);
    restore_checkpoint(stream_, reader, config_.model, store_, &optimizer_);
    first_step_ = reader.header().step;
    first_sample_ = reader.header().samples;
    first_token_ = reader.header().tokens;
    loss_scaler_.restore(reader.header().loss_scale);
    changes_ = job_changes(reader.header().job, job_.resolved);
    resumed_from_ = file;
  } else if (!config_.model.weights.empty()) {
    unused_weights_ =
        load_weights(stream_, store_, config_.model, config_.model.weights, &optimizer_);
  } else {
    initialize_weights(stream_, store_, config_.run.seed, &optimizer_);
  }
}

void Trainer::run() {
  if (first_step_ >= config_.run.steps) {
    if (leader())
      spdlog::info("nothing to do: {} holds step {}, run.steps is {}", resumed_from_, first_step_,
                   config_.run.steps);
    return;
  }
  const std::vector<std::string> hosts = gather_hosts(grid_);
  agreed(grid_.mpi(), [&] {
    if (leader()) open_outputs(hosts);
  });
  for (std::int64_t step = first_step_; step < config_.run.steps; ++step) {
    const StepMetrics metrics = train_step(step);
    if (leader()) {
      metrics_->write(metrics);
      progress_->step(metrics);
    }
    after_step(step, metrics.tokens);
  }
  if (leader()) progress_->pause();
  report_memory();
}

Allocations Trainer::allocations() const {
  return {store_.bytes(),       optimizer_.allocated(),
          buffers_.memory(),    batch_bytes(config_, shape_),
          stage_.table_bytes(), plan_bytes(plan_.steps)};
}

// What the fullest rank used, by the names of the plan: what it allocated, and what is left of the
// process's peak, which is MPI's (and of the libraries what the run touched of them).
void Trainer::report_memory() {
  KindBytes used = by_kind(allocations(), plan_.program);
  used.communication = peak_resident_bytes() - used.total();
  constexpr std::size_t count = memory_kinds.size();
  std::vector<std::int64_t> all(count * static_cast<std::size_t>(grid_.size()));
  const Tensor ranks(all.data(), DType::i64, {grid_.size(), std::int64_t{count}});
  const Tensor own = ranks.slice(0, grid_.rank(), 1);
  for (std::size_t k = 0; k < count; ++k) own.as<std::int64_t>()[k] = used.*memory_kinds[k].bytes;
  const Stream host;
  grid_.world().all_gather(host, ranks, own).wait(host);
  if (!leader()) return;
  int fullest = 0;
  KindBytes most;
  for (int rank = 0; rank < grid_.size(); ++rank) {
    KindBytes there;
    for (std::size_t k = 0; k < count; ++k)
      there.*memory_kinds[k].bytes = all[static_cast<std::size_t>(rank) * count + k];
    if (there.total() <= most.total()) continue;
    fullest = rank;
    most = there;
  }
  spdlog::info("rank {} was to hold {}", fullest,
               memory_text(plan_.memory.of(fullest).in_memory()));
  spdlog::info("rank {} has used    {}", fullest, memory_text(most));
}

void Trainer::open_outputs(const std::vector<std::string>& hosts) {
  announce();
  prepare_run_directory(job_, hosts);
  // Later checkpoints are of a run that this one leaves behind, as are the later lines of
  // metrics.jsonl.
  for (const std::string& other : set_aside_later(config_.checkpoint.directory, first_step_))
    spdlog::warn("{} is of another run: renamed to {}.superseded", other, other);
  metrics_.emplace(config_.run.directory + "/metrics.jsonl", first_step_);
  progress_.emplace(config_.run.progress, first_step_, config_.run.steps, config_.steps_per_print);
}

// The ten lines: load, run the plan, share the numbers.
StepMetrics Trainer::train_step(std::int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  for (const Axis axis : all_axes) traffic_[static_cast<std::size_t>(axis)] = grid_.traffic(axis);
  const std::int64_t done = step - first_step_;
  batch_.load(first_sample_ + done * config_.batch.global);
  const StepInput input = step_input(step);
  const StepOutput output = training_.run(input);
  StepMetrics metrics;
  metrics.step = step;
  metrics.lr = input.optimizer.learning_rate;
  metrics.grad_norm = output.grad_norm;
  metrics.tokens = first_token_ + (done + 1) * tokens_per_step();
  share(metrics, output.loss_sum);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  metrics.step_seconds = elapsed.count();
  metrics.tokens_per_second = static_cast<double>(tokens_per_step()) / metrics.step_seconds;
  if (config_.run.peak_flops > 0.0)
    metrics.mfu = metrics.tokens_per_second *
                  training_flops_per_token(config_.model, config_.data.sequence_length) /
                  (config_.run.peak_flops * grid_.size());
  const bool finite = std::isfinite(metrics.loss) && std::isfinite(metrics.grad_norm);
  if (loss_scaler_.enabled()) {
    metrics.loss_scale = loss_scaler_.scale();
    metrics.skipped = !std::isfinite(metrics.grad_norm);
    loss_scaler_.update(metrics.skipped);
    if (metrics.skipped && leader())
      spdlog::warn("step {} skipped: gradients overflow float16 at loss scale {}, next scale {}",
                   step, *metrics.loss_scale, loss_scaler_.scale());
  }
  if (!finite && !metrics.skipped)
    throw Error(fmt::format("step {}: loss {} and gradient norm {} are not both finite", step,
                            metrics.loss, metrics.grad_norm),
                "the run diverged",
                "Lower the learning rate, set gradient_clipping, or resume an earlier checkpoint");
  return metrics;
}

std::int64_t Trainer::tokens_per_step() const {
  return config_.batch.global * config_.data.sequence_length;
}

StepInput Trainer::step_input(std::int64_t step) {
  StepInput input;
  input.batch = &batch_;
  if (loss_scaler_.enabled()) input.fp16_scale = loss_scaler_.scale();
  input.loss_scale =
      static_cast<float>(loss_scaler_.scale() / static_cast<double>(tokens_per_step()));
  input.dropout_key =
      mix_key(mix_key(config_.run.seed, "dropout"), static_cast<std::uint64_t>(step));
  const std::int64_t updates = step - loss_scaler_.skipped();  // skipped steps count for nothing
  input.optimizer.learning_rate =
      learning_rate(config_.scheduler, config_.optimizer, updates, config_.run.steps);
  input.optimizer.beta1 = beta1_at(config_.scheduler, config_.optimizer, updates);
  input.optimizer.beta2 = beta2_at(config_.scheduler, config_.optimizer);
  input.optimizer.step = updates + 1;
  return input;
}

// Loss and traffic are sums over ranks, memory is the largest.
void Trainer::share(StepMetrics& metrics, double loss_sum) {
  std::array<double, 1 + 2 * all_axes.size()> sums{};
  sums[0] = stage_.has_head() && grid_.tensor_rank() == 0 ? loss_sum : 0.0;
  for (const Axis axis : all_axes) {
    const auto a = static_cast<std::size_t>(axis);
    const Traffic now = grid_.traffic(axis);
    sums[1 + 2 * a] = static_cast<double>(now.bytes - traffic_[a].bytes);
    sums[2 + 2 * a] = static_cast<double>(now.messages - traffic_[a].messages);
  }
  auto memory = static_cast<double>(peak_resident_bytes());
  const Stream host;
  Request sum = grid_.world().all_reduce(host, Tensor(sums.data(), {std::ssize(sums)}));
  Request max = grid_.world().all_reduce(host, Tensor(&memory, {1}), ReduceOp::max);
  sum.wait(host);
  max.wait(host);
  metrics.loss = sums[0] / static_cast<double>(tokens_per_step());
  const auto sent = [&](Axis axis, std::int64_t& bytes, std::int64_t& messages) {
    const auto a = static_cast<std::size_t>(axis);
    bytes = static_cast<std::int64_t>(sums[1 + 2 * a]);
    messages = static_cast<std::int64_t>(sums[2 + 2 * a]);
  };
  sent(Axis::data, metrics.bytes_sent_data, metrics.messages_sent_data);
  sent(Axis::tensor, metrics.bytes_sent_tensor, metrics.messages_sent_tensor);
  sent(Axis::pipeline, metrics.bytes_sent_pipeline, metrics.messages_sent_pipeline);
  metrics.peak_memory_bytes = static_cast<std::int64_t>(memory);
}

void Trainer::after_step(std::int64_t step, std::int64_t tokens) {
  const std::int64_t done = step + 1;
  const bool last = done == config_.run.steps;
  if (evaluator_ && config_.run.eval_interval > 0 &&
      (done % config_.run.eval_interval == 0 || last)) {
    const double loss = evaluator_->loss();
    if (leader()) {
      metrics_->write_valid(step, loss, tokens);
      progress_->pause();
      spdlog::info("step {}: validation loss {:.4f}", done, loss);
    }
  }
  const bool due = last
                       ? config_.checkpoint.at_end
                       : config_.checkpoint.interval > 0 && done % config_.checkpoint.interval == 0;
  if (!due) return;
  try {
    save(done, tokens);
  } catch (const Error& error) {  // on all ranks alike; the run is worth more than this file
    if (last) throw;
    if (leader())
      spdlog::error("no checkpoint at step {}, training goes on: {}", done, error.what());
  }
}

void Trainer::save(std::int64_t steps_done, std::int64_t tokens) {
  CheckpointHeader header;
  header.step = steps_done;
  header.tokens = tokens;
  header.samples = first_sample_ + (steps_done - first_step_) * config_.batch.global;
  header.job = job_.resolved;
  header.model = huggingface_config(config_.model);
  header.grid =
      fmt::format(R"({{"data": {}, "pipeline": {}, "tensor": {}}})", config_.parallel.data,
                  config_.parallel.pipeline, config_.parallel.tensor);
  header.version = version;
  header.loss_scale = loss_scaler_.state();
  const std::string path = checkpoint_path(config_.checkpoint.directory, steps_done);
  save_checkpoint(stream_, path, header, config_.model, store_, optimizer_, grid_,
                  checkpoint_options(config_.checkpoint));
  if (!leader()) return;
  progress_->pause();
  spdlog::info("checkpoint {}", path);
  try {
    prune_checkpoints(config_.checkpoint.directory, config_.checkpoint.keep);
  } catch (const Error& error) {
    spdlog::warn("{}", error.what());
  }
}

void Trainer::announce() const {
  std::int64_t parameters = 0;
  for (const GlobalTensor& tensor : global_tensors(config_.model))
    parameters += tensor.shape.elements();
  spdlog::info("triax {}: {} ranks on {} node(s), tensor {} x pipeline {} x data {}", version,
               grid_.size(), grid_.nodes(), config_.parallel.tensor, config_.parallel.pipeline,
               config_.parallel.data);
  spdlog::info(
      "{:.2f}M parameters, batch {} = micro {} x accumulation {} x data {}, {} tokens a step",
      1e-6 * parameters, config_.batch.global, config_.batch.micro, config_.batch.accumulation,
      config_.parallel.data, tokens_per_step());
  spdlog::info("{} tokens of training data, {} samples an epoch", train_reader_.tokens(),
               train_reader_.samples());
  spdlog::info("schedule {}: {} instructions on stage 0, verified", config_.parallel.schedule,
               training_.plan().size());
  spdlog::info("rank 0 will hold {}", memory_text(plan_.memory.of(0).in_memory()));
  spdlog::info("a step sends, all ranks together: {}", messages_text(plan_.messages));
  announce_offload(config_.zero, optimizer_, store_);
  if (config_.dump_state) spdlog::info("{}", job_.resolved);
  if (!job_.accepted.empty())
    spdlog::info("accepted without effect here: {}", fmt::join(job_.accepted, ", "));
  if (config_.recompute.partition_inputs && config_.recompute.what != Recompute::layer)
    spdlog::warn(
        "activation_checkpointing.partition_activations has nothing to cut: no layer is "
        "recomputed from its input. activation_checkpointing.number_checkpoints says how many are");
  if (!unused_weights_.empty())
    spdlog::warn("{}: {} tensors are not part of this model: {}", config_.model.weights,
                 unused_weights_.size(), fmt::join(unused_weights_, ", "));
  if (!resumed_from_.empty())
    spdlog::info("resumed from {} at step {} of {}", resumed_from_, first_step_, config_.run.steps);
  for (const std::string& change : changes_) spdlog::warn("{}", change);
}

}  // namespace triax

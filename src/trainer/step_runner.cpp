// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/step_runner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/random/random.hpp"
#include "src/model/stage/partition.hpp"
#include "src/model/stage/trained_parameters.hpp"
#include "src/recipe/lr_schedule.hpp"

namespace triax {
namespace {

double seconds_between(StepRunner::Clock::time_point begin, StepRunner::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

StepRunner::StepRunner(RankState& rank, const TraceSteps& trace)
    : rank_(rank),
      share_(rank.grid),
      finite_(rank.store.memory(), rank.grid),
      executor_(rank.stream, rank.plan.steps.training[rank.stage_index()], rank.stage, rank.layout,
                rank.shape, rank.buffers, rank.messages, rank.store, &rank.optimizer, rank.grid),
      recorder_(trace, executor_.plan().size()),
      loss_scaler_(rank.config.precision.loss_scale) {}

// Stages between the first and the last read positions in documents, if anything.
void StepRunner::load_batch(std::int64_t sample) {
  rank_.grid.drain(rank_.batch.pushed());  // the host writes it again
  const FileScope working(rank_.grid.watch());
  if (reads_batches(rank_.stage, rank_.shape)) rank_.batch.load(rank_.stream, sample);
}

// Label tokens of the global batch that is loaded. Ranks tell each other theirs only where
// labels differ from the tokens: else every token is one.
LabelCounts StepRunner::count_labels() {
  if (!rank_.train_data.has_labels() && !rank_.shape.pairs) return {rank_.tokens_per_step()};
  const bool counts = rank_.stage.has_head() && rank_.grid.tensor_rank() == 0;
  const LabelCounts own = counts ? rank_.batch.counts() : LabelCounts{};
  std::array<double, 3> sums = {static_cast<double>(own.tokens), static_cast<double>(own.pairs),
                                static_cast<double>(own.chosen)};
  const std::int64_t used = rank_.shape.pairs ? std::ssize(sums) : 1;
  const Stream host;
  rank_.grid.world().all_reduce(host, Tensor(sums.data(), {used})).wait(host);
  return {static_cast<std::int64_t>(sums[0]), static_cast<std::int64_t>(sums[1]),
          static_cast<std::int64_t>(sums[2])};
}

StepInput StepRunner::input(std::int64_t step, const LossScaler& scaler,
                            const RunningStep& running) {
  const PlacedConfig& config = rank_.config;
  StepInput input;
  input.batch = &rank_.batch;
  if (scaler.enabled()) input.fp16_scale = scaler.scale();
  input.loss_scale = static_cast<float>(
      scaler.scale() / static_cast<double>(std::max<std::int64_t>(running.terms, 1)));
  input.pairs = pair_options(config, static_cast<double>(running.labels.pairs),
                             static_cast<double>(running.labels.chosen));
  input.z_coefficient = static_cast<float>(config.loss.z_coefficient);
  input.dropout_key =
      mix_key(mix_key(config.run.seed, "dropout"), static_cast<std::uint64_t>(step));
  const double elements =
      static_cast<double>(config.data.sequence_length) * static_cast<double>(config.model.hidden);
  input.embedding_noise = static_cast<float>(config.run.neftune_noise_alpha / std::sqrt(elements));
  const std::int64_t updates = step - scaler.skipped();  // skipped steps count for nothing
  input.optimizer.learning_rate =
      learning_rate(config.scheduler, config.optimizer, updates, config.run.steps);
  input.optimizer.beta1 = beta1_at(config.scheduler, config.optimizer, updates);
  input.optimizer.beta2 = beta2_at(config.scheduler, config.optimizer);
  input.optimizer.step = updates + 1;
  return input;
}

StepRunner::RunningStep StepRunner::start(std::int64_t step, std::int64_t sample,
                                          std::int64_t tokens, bool behind_pending) {
  RunningStep running;
  running.begin = Clock::now();
  rank_.grid.board().set_step(step);
  share_.begin();
  running.sample = sample;
  OpStamps* const stamps = recorder_.of(step);
  if (stamps != nullptr) stamps->begin = stamp();
  load_batch(sample);
  LossScaler scaler = loss_scaler_;
  if (behind_pending) scaler.update(false);
  running.labels = count_labels();
  running.terms = rank_.shape.pairs ? running.labels.pairs : running.labels.tokens;
  if (running.terms == 0)
    running.metrics.label_tokens = 0;
  else if (running.labels.tokens != rank_.tokens_per_step())
    running.metrics.label_tokens = running.labels.tokens;
  running.input = input(step, scaler, running);
  if (stamps != nullptr) {
    stamps->end = stamp();
    running.input.stamps = stamps + 1;
  }
  if (running.terms > 0) running.output = executor_.run(running.input);
  running.metrics.step = step;
  running.metrics.lr = running.input.optimizer.learning_rate;
  running.metrics.tokens = tokens;
  if (scaler.enabled()) running.metrics.loss_scale = scaler.scale();
  return running;
}

// A step whose numbers are pending has not ended yet: the one before it tells how long it takes.
double StepRunner::seconds_ahead(const RunningStep& running, bool last) const {
  const double step =
      running.pending() ? last_seconds_ : seconds_between(running.begin, Clock::now());
  return ((running.pending() ? 1.0 : 0.0) + (last ? 0.0 : 1.0)) * step;
}

StepSummary StepRunner::exchange(RunningStep& running, StepSummary own) {
  const bool counts = rank_.stage.has_head() && rank_.grid.tensor_rank() == 0;
  own.loss_sum = counts ? running.output.loss_sum : 0.0;
  const StepSummary all = share_.share(own, running.metrics);
  running.loss_sum = all.loss_sum;
  if (rank_.shape.pairs) sum_pairs(running);
  return all;
}

// Collective.
void StepRunner::sum_pairs(RunningStep& running) {
  const bool counts = rank_.stage.has_head() && rank_.grid.tensor_rank() == 0;
  if (counts) running.pairs = running.output.pairs;
  const Stream host;
  rank_.grid.world().all_reduce(host, Tensor(running.pairs.data(), {pair_sums})).wait(host);
}

StepMetrics StepRunner::numbers(const RunningStep& running) {
  const PlacedConfig& config = rank_.config;
  const auto tokens = static_cast<double>(rank_.tokens_per_step());
  StepMetrics metrics = running.metrics;
  double loss_sum = running.loss_sum;
  metrics.grad_norm = running.output.grad_norm;
  if (const LateNumbers& late = running.output.late; late.pending()) {
    rank_.grid.drain(late.arrived());
    const StepNumbers numbers = late.read();
    metrics.grad_norm = numbers.grad_norm;
    loss_sum = numbers.loss_sum;
  }
  const Clock::time_point now = Clock::now();
  metrics.loss =
      without_sign_of_nan(loss_sum / static_cast<double>(std::max<std::int64_t>(running.terms, 1)));
  if (rank_.shape.pairs) metrics.pairs = pair_metrics(config, running.pairs);
  metrics.grad_norm = without_sign_of_nan(metrics.grad_norm);
  metrics.step_seconds = seconds_between(std::max(running.begin, finished_), now);
  finished_ = now;
  last_seconds_ = metrics.step_seconds;
  metrics.tokens_per_second = tokens / metrics.step_seconds;
  if (config.run.peak_flops > 0.0) {
    const std::int64_t length = config.data.sequence_length;
    const double flops = training_flops_per_token(config.model, length) -
                         saved_flops_per_token(config.model, length);
    metrics.mfu = metrics.tokens_per_second * flops / (config.run.peak_flops * rank_.grid.size());
  }
  metrics.skipped = !std::isfinite(metrics.grad_norm);
  return metrics;
}

std::string StepRunner::first_non_finite(const RunningStep& running, bool reload) {
  NonFiniteSearch search(finite_);
  StepInput input = running.input;
  input.search = &search;
  input.stamps = nullptr;
  if (reload) load_batch(running.sample);
  executor_.run(input);
  return search.first(rank_.grid);
}

bool StepRunner::weights_are_finite() const {
  return finite_weights(finite_, rank_.stream, rank_.store, rank_.grid);
}

}  // namespace triax

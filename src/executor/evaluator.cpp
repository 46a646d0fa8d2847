// SPDX-License-Identifier: Apache-2.0
#include "src/executor/evaluator.hpp"

#include <utility>

namespace triax {
namespace {

// Samples of `batches` global batches (0: all), at most those there are.
std::int64_t samples_of(std::int64_t batches, std::int64_t batch, std::int64_t all) {
  return batches == 0 || batches > all / batch ? all : batches * batch;
}

}  // namespace

Evaluator::Evaluator(TokenReader reader, const Config& config, const BatchShape& shape,
                     Executor executor, ProcessGrid& grid, DeviceArena* arena)
    : reader_(std::move(reader)),
      grid_(grid),
      samples_(samples_of(config.run.eval_steps, config.batch.global, reader_.samples())),
      global_batch_(config.batch.global),
      sequence_(config.data.sequence_length),
      batch_(reader_, config.batch, shape, config.parallel.data, grid.data_rank(), arena),
      executor_(std::move(executor)),
      counts_(grid.pipeline_rank() == grid.shape().pipeline - 1 && grid.tensor_rank() == 0) {}

std::optional<double> Evaluator::loss(const std::function<bool()>& continues) {
  double sum = 0.0;
  for (std::int64_t first = 0; first < samples_; first += global_batch_) {
    if (first > 0 && !continues()) return {};
    grid_.drain(batch_.pushed());
    if (reads_batches(executor_.stage())) {
      const FileScope working(grid_.watch());
      batch_.load(executor_.stream(), first, samples_);
    }
    StepInput input;
    input.batch = &batch_;
    sum += executor_.run(input).loss_sum;
  }
  if (!counts_) sum = 0.0;
  const Stream host;
  grid_.world().all_reduce(host, Tensor(&sum, {1})).wait(host);
  return sum / static_cast<double>(samples_ * sequence_);
}

}  // namespace triax

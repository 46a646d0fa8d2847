// SPDX-License-Identifier: Apache-2.0
#include "src/executor/evaluator.hpp"

#include <algorithm>
#include <array>
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
      config_(config),
      grid_(grid),
      samples_(samples_of(config.run.eval_steps, config.batch.global, reader_.samples())),
      global_batch_(config.batch.global),
      shape_(shape),
      batch_(reader_, config.batch, shape, config.parallel.data, grid.data_rank(), arena),
      executor_(std::move(executor)),
      counts_(grid.pipeline_rank() == grid.shape().pipeline - 1 && grid.tensor_rank() == 0) {}

std::optional<HeldOutLoss> Evaluator::loss(const std::function<bool()>& continues) {
  std::array<double, 2 + pair_sums> sums{};  // of the losses, and of the label tokens; of pairs
  for (std::int64_t first = 0; first < samples_; first += global_batch_) {
    if (first > 0 && !continues()) return {};
    grid_.drain(batch_.pushed());
    if (reads_batches(executor_.stage(), shape_)) {
      const FileScope working(grid_.watch());
      batch_.load(executor_.stream(), first, samples_);
    }
    StepInput input;
    input.batch = &batch_;
    input.pairs = pair_options(config_, 0.0, 0.0);
    const StepOutput output = executor_.run(input);
    sums[0] += output.loss_sum;
    sums[1] += static_cast<double>(input.pairs ? batch_.counts().pairs : batch_.label_tokens());
    for (std::size_t i = 0; i < output.pairs.size(); ++i) sums[2 + i] += output.pairs[i];
  }
  if (!counts_) sums = {};
  const Stream host;
  grid_.world().all_reduce(host, Tensor(sums.data(), {std::ssize(sums)})).wait(host);
  if (sums[1] == 0.0)
    throw Error("validation has no loss",
                fmt::format("all labels of its {} samples are {}", samples_, ignored_label),
                "Check the labels in the files of data.valid, or raise run.eval_steps");
  if (config_.data.rows_per_sample == 1) return HeldOutLoss{sums[0] / sums[1]};
  PairSums of_pairs{};
  std::copy_n(sums.begin() + 2, of_pairs.size(), of_pairs.begin());
  return HeldOutLoss{pair_loss_of(config_, of_pairs), pair_metrics(config_, of_pairs)};
}

}  // namespace triax

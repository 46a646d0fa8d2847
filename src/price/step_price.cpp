// SPDX-License-Identifier: Apache-2.0
#include "src/price/step_price.hpp"

#include <algorithm>

#include "src/model/stage/partition.hpp"
#include "src/model/stage/trained_parameters.hpp"
#include "src/price/step_times.hpp"

namespace triax {
namespace {

// Bytes that a rank of the stage sends in a step, by axis.
std::array<double, all_axes.size()> bytes_of(const StageCosts& costs, const Plan& plan) {
  std::array<double, all_axes.size()> bytes{};
  for (const Op& op : plan) {
    if (!sends(op.kind)) continue;
    const OpMessages::Sent sent = costs.messages().of(op);
    bytes[static_cast<std::size_t>(sent.axis)] += static_cast<double>(sent.messages.total().bytes);
  }
  return bytes;
}

}  // namespace

Utilisation utilisation(const Config& config, const Machine& machine, double seconds) {
  const std::int64_t length = config.data.sequence_length;
  const double tokens = static_cast<double>(config.batch.global * config.data.sample_length());
  const ParallelConfig& grid = config.parallel;
  const double ranks = static_cast<double>(grid.data) * grid.pipeline * grid.tensor;
  const double seen =
      training_flops_per_token(config.model, length) - saved_flops_per_token(config.model, length);
  // The head's and linear maps' work does not depend on what attention counts.
  const double width = static_cast<double>(config.model.heads) * config.model.head_size;
  const double whole = 3.0 * 4.0 * width * static_cast<double>(length) * config.model.layers;
  const double square = seen - attention_flops_per_token(config.model, length) + whole;
  const double peak = machine.flops(config.precision.type, config.precision.fp8);
  const double rate = tokens / seconds / ranks;
  return {
      .seen = rate * seen / peak, .square = rate * square / peak, .square_flops = rate * square};
}

StepPrice step_price(const PlacedConfig& config, const StepPlans& plans, const Machine& machine) {
  const StepTimes times(config, machine);
  const Timeline timeline = simulate(plans.training, plans.shape, times);
  StepPrice price;
  price.seconds = timeline.makespan;
  price.tokens = static_cast<double>(config.batch.global) * config.data.sample_length();
  price.utilisation = utilisation(config, machine, price.seconds);
  price.bubble = timeline.bubble();
  const double all = timeline.makespan * static_cast<double>(timeline.stages.size());
  for (std::size_t s = 0; s < timeline.stages.size(); ++s) {
    price.data += timeline.stages[s].data / all;
    price.store += timeline.stages[s].store / all;
    const auto bytes = bytes_of(times.stage(static_cast<int>(s)), plans.training[s]);
    for (std::size_t axis = 0; axis < bytes.size(); ++axis)
      price.bytes[axis] = std::max(price.bytes[axis], bytes[axis]);
  }
  return price;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/step_share.hpp"

#include "src/forecast/process_memory.hpp"

namespace triax {

void StepShare::begin() {
  for (const Axis axis : all_axes) before_[static_cast<std::size_t>(axis)] = grid_.traffic(axis);
}

StepSummary StepShare::share(const StepSummary& own, StepMetrics& metrics) {
  std::array<double, 2 + 2 * all_axes.size()> sums{};
  sums[0] = own.loss_sum;
  for (const Axis axis : all_axes) {
    const auto a = static_cast<std::size_t>(axis);
    const Traffic now = grid_.traffic(axis);
    sums[1 + 2 * a] = static_cast<double>(now.bytes - before_[a].bytes);
    sums[2 + 2 * a] = static_cast<double>(now.messages - before_[a].messages);
  }
  const double on_messages = seconds_on_messages(grid_);
  sums.back() = on_messages;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  std::array<double, 5> largest = {static_cast<double>(peak_resident_bytes()),
                                   static_cast<double>(own.request), own.writing ? 1.0 : 0.0,
                                   -on_messages, passed.count()};
  const Stream host;
  Request sum = grid_.world().all_reduce(host, Tensor(sums.data(), {std::ssize(sums)}));
  Request max =
      grid_.world().all_reduce(host, Tensor(largest.data(), {std::ssize(largest)}), ReduceOp::max);
  sum.wait(host);
  max.wait(host);
  const auto sent = [&](Axis axis, std::int64_t& bytes, std::int64_t& messages) {
    const auto a = static_cast<std::size_t>(axis);
    bytes = static_cast<std::int64_t>(sums[1 + 2 * a]);
    messages = static_cast<std::int64_t>(sums[2 + 2 * a]);
  };
  sent(Axis::data, metrics.bytes_sent_data, metrics.messages_sent_data);
  sent(Axis::tensor, metrics.bytes_sent_tensor, metrics.messages_sent_tensor);
  sent(Axis::pipeline, metrics.bytes_sent_pipeline, metrics.messages_sent_pipeline);
  metrics.peak_memory_bytes = static_cast<std::int64_t>(largest[0]);
  return {sums[0],
          static_cast<RunRequest>(largest[1]),
          largest[2] != 0.0,
          {sums.back() / grid_.size(), -largest[3], largest[4]}};
}

}  // namespace triax

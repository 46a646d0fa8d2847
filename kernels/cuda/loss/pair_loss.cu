// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/pair_loss.hpp"

#include "kernels/cuda/launch/launch.hpp"
#include "kernels/cuda/launch/stream.hpp"
#include "kernels/cuda/launch/views.hpp"
#include "kernels/cuda/norm/row_sum.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/loss/pair_terms.hpp"

namespace triax::cuda {
namespace {

// One CUDA block takes the pairs of a micro-batch in their order, so that sums have one order.
struct PairLoss {
  static constexpr int max_threads = long_row_threads;
  const float* loss;
  const std::int32_t* labels;
  const double* reference;  // may be null
  float* factors;           // may be null
  double* log_probs;
  double* sums;
  double* whole;
  std::int64_t rows, length, sequences;
  PairLossOptions options;

  TRIAX_DEVICE SequenceSums sums_of(const Block& block, std::int64_t sequence) const {
    const float* of_rows = loss + sequence * length;
    const std::int32_t* of_labels = labels + sequence * length;
    double parts[2] = {0.0, 0.0};  // of log-probabilities and of labels
    for (std::int64_t r = block.thread_x(); r < length; r += block.threads_x()) {
      if (of_labels[r] < 0) continue;
      parts[0] -= static_cast<double>(of_rows[r]);
      parts[1] += 1.0;
    }
    row_sums<2>(block, block.shared<double>(), parts);
    SequenceSums all;
    all.log_probs = parts[0];
    all.labels = parts[1];
    if (reference != nullptr) all.reference = reference[sequence];
    return all;
  }

  TRIAX_DEVICE void fill(const Block& block, std::int64_t begin, std::int64_t end,
                         double value) const {
    if (factors == nullptr) return;
    for (std::int64_t r = begin + block.thread_x(); r < end; r += block.threads_x())
      factors[r] = static_cast<float>(value);
  }

  TRIAX_DEVICE void operator()(const Block& block) const {
    for (std::int64_t s = 0; s < sequences; s += 2) {
      const SequenceSums chosen = sums_of(block, s), rejected = sums_of(block, s + 1);
      const bool counts = chosen.labels > 0.0 && rejected.labels > 0.0;
      PairTerms terms{};
      if (counts) terms = pair_terms(chosen, rejected, options);
      fill(block, s * length, (s + 1) * length, terms.chosen_factor);
      fill(block, (s + 1) * length, (s + 2) * length, terms.rejected_factor);
      block.sync();  // all threads have read the reference, where log_probs may be written
      if (block.thread_x() != 0) continue;
      log_probs[s] = chosen.log_probs;
      log_probs[s + 1] = rejected.log_probs;
      if (counts) add_pair(sums, whole, terms, chosen, rejected, options);
    }
    fill(block, sequences * length, rows, 0.0);
  }
};

}  // namespace

void pair_loss(const Stream& stream, const PairRows& rows, const PairLossOptions& options,
               const PairResults& results) {
  const std::int64_t all = rows.labels.elements(), length = rows.length;
  const std::int64_t sequences = results.log_probs.elements();
  check(sequences % 2 == 0 && sequences * length <= all, "{} sequences of {} rows in {} rows",
        sequences, length, all);
  const PairLoss body{
      device_elements(rows.loss, all, "loss"),
      device_elements<std::int32_t>(rows.labels, all, "labels"),
      rows.reference.empty() ? nullptr
                             : device_elements<double>(rows.reference, sequences, "reference"),
      results.factors.empty() ? nullptr : device_elements(results.factors, all, "factors"),
      device_elements<double>(results.log_probs, sequences, "log_probs"),
      device_elements<double>(results.sums, pair_sums, "sums"),
      device_elements<double>(results.loss, 1, "loss of pairs"),
      all,
      length,
      sequences,
      options};
  LaunchShape shape;
  shape.blocks_x = 1;
  shape.threads_x = long_row_threads;
  shape.shared_bytes = row_sum_slots * sizeof(double);
  launch(stream, shape, body);
}

}  // namespace triax::cuda

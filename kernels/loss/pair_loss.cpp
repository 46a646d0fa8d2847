// SPDX-License-Identifier: Apache-2.0
#include "kernels/loss/pair_loss.hpp"

#include <algorithm>

#include "kernels/base/rows.hpp"
#include "kernels/cuda/pair_kernels.hpp"

namespace triax {
namespace {

SequenceSums sums_of(const float* loss, const std::int32_t* labels, std::int64_t length) {
  SequenceSums sums;
  for (std::int64_t r = 0; r < length; ++r) {
    if (labels[r] < 0) continue;
    sums.log_probs -= static_cast<double>(loss[r]);
    sums.labels += 1.0;
  }
  return sums;
}

}  // namespace

void pair_loss(const Stream& stream, const PairRows& rows, const PairLossOptions& options,
               const PairResults& results) {
  if (on_device(stream)) return cuda::pair_loss(stream, rows, options, results);
  const std::int64_t all = rows.labels.elements(), length = rows.length;
  const std::int64_t sequences = results.log_probs.elements();
  check(sequences % 2 == 0 && sequences * length <= all, "{} sequences of {} rows in {} rows",
        sequences, length, all);
  const float* loss = elements_of(rows.loss, all, "loss");
  const std::int32_t* labels = elements_of<std::int32_t>(rows.labels, all, "labels");
  const double* reference = rows.reference.empty()
                                ? nullptr
                                : elements_of<double>(rows.reference, sequences, "reference");
  float* factors = results.factors.empty() ? nullptr : elements_of(results.factors, all, "factors");
  double* log_probs = elements_of<double>(results.log_probs, sequences, "log_probs");
  double* sums = elements_of<double>(results.sums, pair_sums, "sums");
  double* whole = elements_of<double>(results.loss, 1, "loss of pairs");
  if (factors != nullptr) std::fill_n(factors, all, 0.0F);
  for (std::int64_t s = 0; s < sequences; s += 2) {
    SequenceSums of_pair[2];
    for (std::int64_t i = 0; i < 2; ++i) {
      of_pair[i] = sums_of(loss + (s + i) * length, labels + (s + i) * length, length);
      if (reference != nullptr) of_pair[i].reference = reference[s + i];
    }
    for (std::int64_t i = 0; i < 2; ++i) log_probs[s + i] = of_pair[i].log_probs;
    if (of_pair[0].labels == 0.0 || of_pair[1].labels == 0.0) continue;
    const PairTerms terms = pair_terms(of_pair[0], of_pair[1], options);
    add_pair(sums, whole, terms, of_pair[0], of_pair[1], options);
    if (factors == nullptr) continue;
    std::fill_n(factors + s * length, length, static_cast<float>(terms.chosen_factor));
    std::fill_n(factors + (s + 1) * length, length, static_cast<float>(terms.rejected_factor));
  }
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A preference loss as kernels take it, and its numbers over a batch of pairs.
#include <array>
#include <optional>

#include "io/metrics/pair_metrics.hpp"
#include "kernels/loss/pair_loss.hpp"
#include "src/config/config.hpp"

namespace triax {

/// PairResults::sums over all pairs of a batch.
using PairSums = std::array<double, pair_sums>;
inline double number_of(const PairSums& sums, PairSum which) {
  return sums[static_cast<std::size_t>(which)];
}

/// The job's loss; nothing where it is the next token's. `pairs` and `chosen_labels` of the global
/// batch: the cross-entropy of chosen answers is a mean over their tokens.
std::optional<PairLossOptions> pair_options(const Config& config, double pairs,
                                            double chosen_labels);

/// Mean loss of the pairs.
double pair_loss_of(const Config& config, const PairSums& sums);
/// Means of rewards and log-probabilities.
PairMetrics pair_metrics(const Config& config, const PairSums& sums);

}  // namespace triax

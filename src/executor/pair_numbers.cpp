// SPDX-License-Identifier: Apache-2.0
#include "src/executor/pair_numbers.hpp"

#include <algorithm>

#include "src/config/preference.hpp"

namespace triax {

namespace {

// Weight of the cross-entropy of chosen answers, a mean over their tokens.
double chosen_weight(const Config& config) {
  return preference_loss(config)->beta == BetaUse::weight ? 1.0 : config.loss.chosen_weight;
}

}  // namespace

std::optional<PairLossOptions> pair_options(const Config& config, double pairs,
                                            double chosen_labels) {
  const PreferenceLoss* const loss = preference_loss(config);
  if (loss == nullptr) return {};
  const bool weighs = loss->beta == BetaUse::weight;
  PairLossOptions options;
  options.mean = loss->mean;
  options.odds = loss->odds;
  options.slope = weighs ? 1.0 : config.loss.beta;
  options.margin = loss->margin ? config.loss.simpo_gamma : 0.0;
  options.weight = weighs ? config.loss.beta : 1.0;
  options.smoothing = config.loss.label_smoothing;
  options.chosen_weight = chosen_weight(config) * pairs / std::max(chosen_labels, 1.0);
  options.reward = config.loss.beta;
  return options;
}

double pair_loss_of(const Config& config, const PairSums& sums) {
  const double pairs = std::max(number_of(sums, PairSum::pairs), 1.0);
  const double labels = number_of(sums, PairSum::chosen_labels);
  const double weight = pair_options(config, pairs, labels)->chosen_weight;
  return (number_of(sums, PairSum::loss) + weight * number_of(sums, PairSum::chosen_loss)) / pairs;
}

PairMetrics pair_metrics(const Config& config, const PairSums& sums) {
  const double pairs = std::max(number_of(sums, PairSum::pairs), 1.0);
  const auto mean = [&](PairSum which) { return number_of(sums, which) / pairs; };
  PairMetrics metrics{.chosen_reward = mean(PairSum::chosen_reward),
                      .rejected_reward = mean(PairSum::rejected_reward),
                      .accuracy = mean(PairSum::preferred),
                      .chosen_log_prob = mean(PairSum::chosen_log_prob),
                      .rejected_log_prob = mean(PairSum::rejected_log_prob)};
  if (chosen_weight(config) > 0.0)
    metrics.chosen_loss = number_of(sums, PairSum::chosen_loss) /
                          std::max(number_of(sums, PairSum::chosen_labels), 1.0);
  return metrics;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of one pair of sequences in a preference loss, shared by the host loop and the device
// kernel.
#include <cmath>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// loss = -weight ((1 - smoothing) log sigmoid(z) + smoothing log sigmoid(-z)),
/// z = slope (score of chosen - score of rejected) - margin.
struct PairLossOptions {
  bool mean = false;  ///< score: mean log-probability of a sequence's label tokens; else their sum
                      ///< minus the reference's
  bool odds = false;  ///< score: log-odds of that mean's exponential
  double slope = 1.0, margin = 0.0, weight = 1.0;
  double smoothing = 0.0;      ///< share of pairs that are taken for swapped
  double chosen_weight = 0.0;  ///< of the cross-entropy of chosen label tokens, added to the loss
  double reward = 1.0;         ///< factor of scores (before odds) in the sums of rewards
};

/// Numbers of PairResults::sums.
enum class PairSum : std::uint8_t {
  loss,           // without chosen_weight's share
  chosen_loss,    // cross-entropy of chosen label tokens
  chosen_labels,  // their number
  pairs,
  chosen_reward,
  rejected_reward,
  preferred,  // pairs whose chosen sequence has the greater reward
  chosen_log_prob,
  rejected_log_prob,
};
inline constexpr int pair_sums = 9;

/// Sums over the label tokens of a sequence.
struct SequenceSums {
  double log_probs = 0.0;  // of the tokens
  double labels = 0.0;     // their number
  double reference = 0.0;  // their log-probabilities under the reference model
};

/// Score of a sequence and its derivative by SequenceSums::log_probs; `value` without odds, for
/// metrics.
struct SequenceScore {
  double value, score, slope;
};

/// Loss of a pair, and for each sequence the factor of its cross-entropy gradient.
struct PairTerms {
  double loss;
  SequenceScore chosen, rejected;
  double chosen_factor, rejected_factor;
};

/// log(1 / (1 + exp(-x))).
TRIAX_HOST_DEVICE inline double log_sigmoid(double x) {
  return x < 0.0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x));
}

TRIAX_HOST_DEVICE inline SequenceScore score_of(const SequenceSums& sums,
                                                const PairLossOptions& options) {
  const double value =
      options.mean ? sums.log_probs / sums.labels : sums.log_probs - sums.reference;
  const double slope = options.mean ? 1.0 / sums.labels : 1.0;
  if (!options.odds) return {value, value, slope};
  // Log of a probability above which the odds have the slope that they have there: float32 sums of
  // exponentials resolve no nearer to 1, and a larger slope would amplify their rounding alone.
  constexpr double almost_one = -1e-5;
  const double log_prob = value < almost_one ? value : almost_one;
  const double rest = -std::expm1(log_prob);  // 1 - probability
  return {value, log_prob - std::log(rest), slope / rest};
}

TRIAX_HOST_DEVICE inline PairTerms pair_terms(const SequenceSums& chosen,
                                              const SequenceSums& rejected,
                                              const PairLossOptions& options) {
  PairTerms terms{};
  terms.chosen = score_of(chosen, options);
  terms.rejected = score_of(rejected, options);
  const double z = options.slope * (terms.chosen.score - terms.rejected.score) - options.margin;
  const double right = log_sigmoid(z), wrong = log_sigmoid(-z), swapped = options.smoothing;
  terms.loss = -options.weight * ((1.0 - swapped) * right + swapped * wrong);
  const double pull = options.weight * options.slope *
                      ((1.0 - swapped) * std::exp(wrong) - swapped * std::exp(right));
  terms.chosen_factor = pull * terms.chosen.slope + options.chosen_weight;
  terms.rejected_factor = -pull * terms.rejected.slope;
  return terms;
}

/// Adds a pair to PairResults::sums and ::loss.
TRIAX_HOST_DEVICE inline void add_pair(double* sums, double* loss, const PairTerms& terms,
                                       const SequenceSums& chosen, const SequenceSums& rejected,
                                       const PairLossOptions& options) {
  const auto add = [sums](PairSum which, double value) { sums[static_cast<int>(which)] += value; };
  add(PairSum::loss, terms.loss);
  add(PairSum::chosen_loss, -chosen.log_probs);
  add(PairSum::chosen_labels, chosen.labels);
  add(PairSum::pairs, 1.0);
  add(PairSum::chosen_reward, options.reward * terms.chosen.value);
  add(PairSum::rejected_reward, options.reward * terms.rejected.value);
  add(PairSum::preferred, terms.chosen.value > terms.rejected.value ? 1.0 : 0.0);
  add(PairSum::chosen_log_prob, options.mean ? terms.chosen.value : chosen.log_probs);
  add(PairSum::rejected_log_prob, options.mean ? terms.rejected.value : rejected.log_probs);
  *loss += terms.loss - options.chosen_weight * chosen.log_probs;
}

}  // namespace triax

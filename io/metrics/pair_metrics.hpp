// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of a batch of preference data beside its loss, under TRL's names.
#include <optional>
#include <string>

namespace triax {

/// Means over pairs.
struct PairMetrics {
  double chosen_reward = 0.0, rejected_reward = 0.0;
  double accuracy = 0.0;  // pairs whose chosen answer has the greater reward
  double chosen_log_prob = 0.0, rejected_log_prob = 0.0;
  std::optional<double> chosen_loss = {};  // cross-entropy of chosen answers, where it is trained
  double margin() const { return chosen_reward - rejected_reward; }
};

/// "rewards":{"chosen":..,"rejected":..,"margins":..,"accuracies":..},"logps":{"chosen":..,
/// "rejected":..}, and "nll_loss":.. if there is one; each with a comma behind it.
std::string pair_fields(const PairMetrics& pairs);

}  // namespace triax

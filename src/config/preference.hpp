// SPDX-License-Identifier: Apache-2.0
#pragma once
// Losses of preference data (loss.type): one row per loss. Keys, checks and the loss that kernels
// compute follow from the rows; nothing else names a loss.
#include <cstdint>
#include <span>
#include <string>

#include "src/config/config.hpp"

namespace triax {

/// Meaning of loss.beta in a loss.
enum class BetaUse : std::uint8_t {
  slope,  // factor of the difference of scores
  weight  // factor of the pairs' loss, which is added to the cross-entropy of chosen answers
};

/// score: what is compared of a chosen and a rejected answer.
struct PreferenceLoss {
  const char* name;
  const char* meaning;
  bool reference;  // score: sum of log-probabilities minus that of the reference model
  bool mean;       // score: mean log-probability of a token
  bool odds;       // score: log-odds of that mean's exponential
  BetaUse beta;
  bool margin;     // takes loss.simpo_gamma
  bool smoothing;  // takes loss.label_smoothing
};

/// All losses of preference data.
std::span<const PreferenceLoss> preference_losses();
/// The loss of that name; null: it is no loss of preference data.
const PreferenceLoss* find_preference_loss(const std::string& name);
/// The loss of a job; null: the next token's.
const PreferenceLoss* preference_loss(const Config& config);
/// Whether the job compares its model with the one that training starts from.
bool needs_reference(const Config& config);

}  // namespace triax

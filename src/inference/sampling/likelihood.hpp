// SPDX-License-Identifier: Apache-2.0
#pragma once
// Log-probabilities of tokens, of the model's distribution as it is.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace triax {

struct TokenLikelihood {
  std::int32_t token = 0;
  float log_probability =
      0;  // of the model's distribution before choice (temperature 1, no penalties)
  std::vector<std::pair<std::int32_t, float>> alternatives = {};  // most likely first
};

/// Log-probability of `token` under softmax(logits), and of the `alternatives` likeliest tokens
/// (the lower of equals first); fewer than 0: neither is computed.
TokenLikelihood likelihood_of(std::span<const float> logits, std::int32_t token, int alternatives);

}  // namespace triax

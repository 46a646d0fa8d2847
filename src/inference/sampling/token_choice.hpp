// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of the choice of the next token.
#include <cstdint>
#include <utility>
#include <vector>

namespace triax {

/// How the next token is chosen. Defaults leave the model's distribution as it is.
struct TokenChoice {
  double temperature = 1.0;  // 0: the most likely token
  int top_k = 0;             // 0: all tokens
  double top_p = 1.0, min_p = 0.0;
  double repetition_penalty = 1.0;  // over prompt and answer, as in Hugging Face's generate
  double presence_penalty = 0.0, frequency_penalty = 0.0;  // over the answer, as in OpenAI's API
  std::vector<std::pair<std::int32_t, float>> logit_bias = {};  // token, added to its logit
  std::uint64_t seed = 0;   // with the position, all that randomness depends on
  std::int32_t tokens = 0;  // only the first `tokens` tokens of the vocabulary; 0: all
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The next token from the model's logits.
#include <cstdint>
#include <span>
#include <vector>

#include "src/inference/constraint/token_mask.hpp"
#include "src/inference/sampling/token_choice.hpp"

namespace triax {

/// Number in [0, 1) that decides over token `index` of an answer (from 0): a function of the two
/// arguments alone, so that no request disturbs another.
double token_uniform(std::uint64_t seed, std::int64_t index);

/// Changes `logits` (V) by the parts of `choice` that do not depend on their distribution, in this
/// order: tokens beyond choice.tokens, those of `banned`, and all but `allowed` (null: all are) can
/// never be chosen, logit_bias,
/// repetition penalty r (positive logits / r, others * r), minus frequency_penalty times the
/// token's number in the answer, minus presence_penalty where it is there.
void change_logits(std::span<float> logits, const TokenChoice& choice,
                   std::span<const std::int32_t> prompt, std::span<const std::int32_t> answer,
                   std::span<const std::int32_t> banned = {}, const TokenMask* allowed = nullptr);

/// Token from changed logits (V): the largest if temperature is 0 or top_k is 1, the lowest of
/// equals; else drawn by `uniform` from softmax(logits / temperature), cut to tokens of at least
/// min_p times the largest probability, to the top_k largest, and to the fewest of these, largest
/// first, whose probabilities (renormalised) sum to top_p.
std::int32_t draw_token(std::span<const float> logits, const TokenChoice& choice, double uniform);

/// Token behind `prompt` and `answer` from the model's logits (V): draw_token() of the changed
/// logits, by token_uniform() of choice.seed and the answer's length.
std::int32_t next_token(std::span<const float> logits, const TokenChoice& choice,
                        std::span<const std::int32_t> prompt, std::span<const std::int32_t> answer,
                        std::span<const std::int32_t> banned = {},
                        const TokenMask* allowed = nullptr);

/// False where a logit is NaN or infinite: no token can be chosen then.
bool all_finite(std::span<const float> logits);

}  // namespace triax

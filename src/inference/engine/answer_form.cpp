// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/answer_form.hpp"

#include <algorithm>

#include "src/inference/sampling/choose_token.hpp"

namespace triax {

std::optional<TokenMask> mask_of(const Constraint* constraint, const GenerationRequest& request) {
  if (constraint == nullptr) return {};
  return constraint->allowed_with(request.end_tokens);
}

std::string failure_of(std::span<const float> logits, const std::optional<TokenMask>& mask) {
  if (!all_finite(logits))
    return "the logits are not finite: the weights are not, or are too large";
  if (mask && !mask->any()) return "no token of the model goes on in the form of the answer";
  return {};
}

bool ends_answer(Constraint* constraint, const GenerationRequest& request, std::int32_t token) {
  if (std::ranges::find(request.end_tokens, token) != request.end_tokens.end()) return true;
  if (constraint == nullptr) return false;
  constraint->take(token);
  return constraint->must_end();
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The next token of an answer that may have to have a form, for every engine.
#include <optional>
#include <span>
#include <string>

#include "src/inference/constraint/constraint.hpp"
#include "src/inference/engine/engine.hpp"

namespace triax {

/// Tokens that may come next; nothing: all. `constraint`: of the request; null: it has none.
std::optional<TokenMask> mask_of(const Constraint* constraint, const GenerationRequest& request);

/// Reason why no token can be chosen; empty: one can.
std::string failure_of(std::span<const float> logits, const std::optional<TokenMask>& mask);

/// Takes the token that was chosen, and returns whether it ends the answer.
bool ends_answer(Constraint* constraint, const GenerationRequest& request, std::int32_t token);

}  // namespace triax

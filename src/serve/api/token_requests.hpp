// SPDX-License-Identifier: Apache-2.0
#pragma once
// POST /tokenize and /detokenize, with vLLM's names.
#include <nlohmann/json.hpp>

#include "src/serve/api/generation_options.hpp"

namespace triax {

/// {prompt or messages, add_special_tokens, return_token_strs} -> {count, max_model_len, tokens,
/// token_strs}.
nlohmann::ordered_json tokenize_reply(const nlohmann::ordered_json& body, const ServedModel& model);
/// {tokens} -> {prompt}.
nlohmann::ordered_json detokenize_reply(const nlohmann::ordered_json& body,
                                        const ServedModel& model);

}  // namespace triax

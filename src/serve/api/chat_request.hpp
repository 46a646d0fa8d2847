// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request of POST /v1/chat/completions.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/serve/api/generation_options.hpp"

namespace triax {

/// Reads the body of a request. ApiError for whatever is not as it must be, also where the model
/// has no chat template or its template refuses the conversation.
GenerationCall read_chat(const nlohmann::ordered_json& body, const ServedModel& model);

/// Token ids of a request's messages through the model's template. Special tokens come from the
/// template alone: names of special tokens in the messages are plain text.
std::vector<std::int32_t> chat_prompt(const Fields& fields, const ServedModel& model);

/// The special tokens of a tokenizer, as text names them.
std::vector<std::string> special_tokens_of(const Tokenizer& tokenizer);

}  // namespace triax

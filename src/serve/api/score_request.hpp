// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests that have the field `score`: log-probabilities of given answers.
#include <nlohmann/json.hpp>
#include <vector>

#include "src/serve/api/generation_options.hpp"

namespace triax {

struct ScoreCall {
  GenerationCall call;                // each prompt is followed by one answer
  std::vector<std::size_t> answered;  // index of the first token of each answer
};

/// Whether the body of a request for text asks for scores instead.
bool asks_for_scores(const nlohmann::ordered_json& body);

/// Reads `prompt`, or `messages` if `chat`, and `score`, an answer or a list of them. Prompt and
/// answer are encoded together; the answer begins with the first token that the prompt alone does
/// not have. ApiError for whatever is not as it must be.
ScoreCall read_scores(const nlohmann::ordered_json& body, const ServedModel& model, bool chat);

}  // namespace triax

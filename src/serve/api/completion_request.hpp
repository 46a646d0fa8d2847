// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request of POST /v1/completions.
#include <nlohmann/json.hpp>

#include "src/serve/api/generation_options.hpp"

namespace triax {

/// Reads the body of a request, whose prompt is a text, a list of texts, or token ids in one list
/// or several. ApiError for whatever is not as it must be.
GenerationCall read_completion(const nlohmann::ordered_json& body, const ServedModel& model);

/// Token ids of a field that is a text, a list of texts, or token ids in one list or several.
std::vector<std::vector<std::int32_t>> read_prompts(const Fields& fields, const std::string& name,
                                                    const ServedModel& model);

}  // namespace triax

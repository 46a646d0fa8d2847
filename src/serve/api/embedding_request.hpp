// SPDX-License-Identifier: Apache-2.0
#pragma once
// The request of POST /v1/embeddings.
#include <nlohmann/json.hpp>

#include "src/serve/api/generation_options.hpp"

namespace triax {

struct EmbeddingCall {
  GenerationCall call;
  bool base64 = false;  // how vectors are written
};

/// Reads the body of a request, whose input is a text, a list of texts, or token ids in one list or
/// several. ApiError for whatever is not as it must be.
EmbeddingCall read_embeddings(const nlohmann::ordered_json& body, const ServedModel& model);

}  // namespace triax

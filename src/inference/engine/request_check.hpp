// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of requests that hold for every engine.
#include "src/inference/engine/engine.hpp"

namespace triax {

/// UsageError if a request can never be served by a model of `context` tokens per text: an empty
/// prompt, one that leaves no place for an answer, tokens outside the vocabulary, options out of
/// range, a form of the answer that is not built, no token to compute at all.
void check_request(const GenerationRequest& request, std::int64_t context, std::int64_t vocabulary);

}  // namespace triax

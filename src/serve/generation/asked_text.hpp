// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request for text, whichever route it came by.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "src/serve/answer/reply_format.hpp"
#include "src/serve/api/generation_options.hpp"

namespace triax {

struct AskedText {
  GenerationCall call;
  std::unique_ptr<const ReplyFormat> format;
};

/// Reads the body of a request to /v1/completions, /v1/chat/completions or /v1/embeddings. ApiError
/// for whatever is not as it must be.
AskedText read_asked(const std::string& route, const nlohmann::ordered_json& body,
                     const ServedModel& model);

}  // namespace triax

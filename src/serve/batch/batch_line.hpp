// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of a batch: what each asks, and how its answer is written.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "src/serve/api/api_error.hpp"
#include "src/serve/http/exchange.hpp"

namespace triax {

struct BatchLine {
  std::int64_t number = 0;             // in the input, from 1
  std::string custom_id = {};          // the line's own, or "line-N"
  std::string url = {};                // the route, as /v1/completions
  nlohmann::ordered_json body = {};    // the request, with a seed
  std::optional<ApiError> error = {};  // the line is no request
};

/// Reads a line: OpenAI's {custom_id, method, url, body}, or a request for text by itself, with
/// `prompt` or `messages`, and perhaps a custom_id. A request without a seed gets one from `seed`
/// and its custom_id, so that its answer depends on nothing else.
BatchLine read_batch_line(std::int64_t number, std::string_view text, std::uint64_t seed);

/// The answer of line `number`, as OpenAI writes it, with the line's number: {id, custom_id, line,
/// response: {status_code, request_id, body}, error}.
std::string answer_json(std::int64_t number, const std::string& custom_id, const HttpReply& reply);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/reply_format.hpp"

#include <algorithm>
#include <cmath>

namespace triax {

using nlohmann::ordered_json;

ordered_json finish_reason(const AnswerDelta& delta) {
  if (!delta.finished) return nullptr;
  switch (*delta.finished) {
    case FinishReason::stop:
      return delta.called ? "tool_calls" : "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
    case FinishReason::error:
      break;
  }
  return "error";
}

double finite(float log_probability) {
  constexpr double least = -9999.0;  // as OpenAI writes minus infinity
  return std::isfinite(log_probability) ? std::max<double>(log_probability, least) : least;
}

std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/api_error.hpp"

#include <nlohmann/json.hpp>

namespace triax {
namespace {

const char* type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

std::string ApiError::body() const {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  const nlohmann::ordered_json error = {{"message", what()},
                                        {"type", type_of(status_)},
                                        {"param", text_or_null(param_)},
                                        {"code", text_or_null(code_)}};
  return nlohmann::ordered_json{{"error", error}}.dump(
      -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError bad_request(const std::string& message, const std::string& param,
                     const std::string& code) {
  return {400, message, param, code};
}

}  // namespace triax

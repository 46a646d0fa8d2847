// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors of OpenAI's API: status and body of the reply to a request that is not served.
#include <stdexcept>
#include <string>

namespace triax {

class ApiError : public std::runtime_error {
 public:
  /// `param`: the field of the request that is wrong; empty: none. `code`: one of OpenAI's; empty:
  /// none.
  ApiError(int status, const std::string& message, std::string param = {}, std::string code = {})
      : std::runtime_error(message),
        status_(status),
        param_(std::move(param)),
        code_(std::move(code)) {}

  int status() const { return status_; }
  const std::string& param() const { return param_; }
  /// Seconds after which a client may try again; 0: it need not.
  int retry_after() const { return retry_after_; }
  ApiError&& after(int seconds) && {
    retry_after_ = seconds;
    return std::move(*this);
  }
  /// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
  std::string body() const;

 private:
  int status_;
  std::string param_, code_;
  int retry_after_ = 0;
};

/// Status 400.
ApiError bad_request(const std::string& message, const std::string& param = {},
                     const std::string& code = {});

}  // namespace triax

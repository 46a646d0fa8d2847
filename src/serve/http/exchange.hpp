// SPDX-License-Identifier: Apache-2.0
#pragma once
// One request over HTTP and its reply, and their limits, without the HTTP library.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triax {

struct HttpRequest {
  std::string method;                       // HEAD is GET: the server leaves the body out
  std::string target;                       // as sent: path, and the query after '?'
  std::string authorization, host, origin;  // headers; empty: absent
  std::string body;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  HttpHeaders headers = {};  // beside those of type, length and connection
};

struct HttpLimits {
  std::size_t body_bytes = std::size_t{16} << 20;   // of a request; more: 413
  std::uint32_t header_bytes = 32U << 10;           // of a request; more: 431
  std::size_t unsent_bytes = std::size_t{8} << 20;  // of a reply; more: the client is gone
  std::size_t connections = 4096;                   // open at once; more wait to be accepted
  std::chrono::seconds request{60};                 // to send a request, once begun
  std::chrono::seconds idle{120};                   // between requests of a connection
};

/// The way back to the client. Used on the server's thread alone; calls after the client has gone
/// or after the reply have no effect.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  /// Sends a whole reply.
  virtual void reply(HttpReply reply) = 0;
  /// Begins a reply of unknown length (server-sent events): write() any number of times, end().
  virtual void begin(const HttpReply& head) = 0;
  virtual void write(std::string_view text) = 0;
  virtual void end() = 0;

  /// Called once if the client goes away before the reply has ended, or reads too slowly;
  /// never from within another call.
  std::function<void()> on_gone;
};

using HttpHandler = std::function<void(HttpRequest request, std::shared_ptr<HttpExchange>)>;

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// An HTTP/1.1 server with one thread. The only header through which others reach the HTTP library.
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/serve/http/exchange.hpp"

namespace triax {

class HttpServer {
 public:
  using Task = std::function<void()>;

  /// Listens on `host` (a name or address) and `port` (0: any free one). Replies begin with
  /// start(). UsageError where the address is unknown, in use or not allowed.
  HttpServer(const std::string& host, int port, const HttpLimits& limits);
  /// Closes all connections and waits for the thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Address and port that it listens on.
  const std::string& address() const { return address_; }
  int port() const { return port_; }

  /// Starts the thread, which calls `handler` for each request and `tick` every `period`.
  void start(HttpHandler handler, Task tick, std::chrono::milliseconds period);
  /// Has the thread do `task`, in the order of the calls. From any thread.
  void post(Task task);
  /// Has the thread do `task` at the first SIGINT from now on; the second has its usual effect.
  void on_interrupt(Task task);
  /// Replies under way, of which some bytes are not sent or not known. From the server's thread.
  std::size_t open_replies() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::string address_;
  int port_ = 0;
};

}  // namespace triax

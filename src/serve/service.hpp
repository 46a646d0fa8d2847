// SPDX-License-Identifier: Apache-2.0
#pragma once
// The routes of the server: from an HTTP request to its reply. On the server's thread.
#include <memory>
#include <string>

#include "src/serve/generation/generations.hpp"
#include "src/serve/http/exchange.hpp"
#include "src/serve/start/api_keys.hpp"

namespace triax {

struct ServiceOptions {
  ApiKeys keys;
  GenerationLimits limits;
  std::string host;   // that it listens on, as given
  double stall = 60;  // seconds without a step, after which /health says so
};

class Service {
 public:
  using Clock = Generations::Clock;

  /// `model` and `engine` outlive it.
  Service(const ServedModel& model, EngineLoop& engine, ServiceOptions options);

  /// Replies to a request, now or when its text is there.
  void handle(const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange);
  void take(const StepReport& report) { generations_.take(report); }
  void tick(Clock::time_point now) { generations_.tick(now); }
  /// From now on no new text is begun (503).
  void drain() { draining_ = true; }
  void fail_all(const ApiError& error) { generations_.fail_all(error); }
  std::size_t open() const { return generations_.open(); }

 private:
  using Exchange = std::shared_ptr<HttpExchange>;
  struct Route {
    const char* method;
    const char* path;
    bool open;  // without a key
    void (Service::*serve)(const HttpRequest& request, const Exchange& exchange);
  };
  static const Route routes[];

  const Route& route_of(const std::string& method, const std::string& path) const;
  void check_open() const;
  void check_access(const HttpRequest& request, bool open) const;
  void page(const HttpRequest& request, const Exchange& exchange);
  void health(const HttpRequest& request, const Exchange& exchange);
  void metrics(const HttpRequest& request, const Exchange& exchange);
  void version_of(const HttpRequest& request, const Exchange& exchange);
  void models(const HttpRequest& request, const Exchange& exchange);
  void one_model(const HttpRequest& request, const Exchange& exchange);
  void generate(const HttpRequest& request, const Exchange& exchange);
  void tokenize(const HttpRequest& request, const Exchange& exchange);
  void detokenize(const HttpRequest& request, const Exchange& exchange);

  const ServedModel& model_;
  ServiceOptions options_;
  Metrics metrics_;
  Generations generations_;
  bool draining_ = false;
};

/// Reply of every route while the model is loaded: 503.
HttpReply loading_reply(const HttpRequest& request);

/// Path of a request's target, without the query, with %XX decoded.
std::string path_of(const std::string& target);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A whole server around the fake engine.
#include <memory>
#include <thread>

#include "src/serve/http/http_server.hpp"
#include "src/serve/service.hpp"
#include "tests/serve/fake_engine.hpp"
#include "tests/serve/http_client.hpp"

namespace triax::test {

class ServedBytes {
 public:
  explicit ServedBytes(
      ServiceOptions options = {.keys = {}, .limits = {}, .host = "127.0.0.1", .stall = 60},
      const HttpLimits& limits = {})
      : model_(byte_model()), loop_(engine, [this](StepReport report) {
          server_->post([this, report = std::move(report)] { service_->take(report); });
        }) {
    server_ = std::make_unique<HttpServer>("127.0.0.1", 0, limits);
    service_ = std::make_unique<Service>(model_, loop_, std::move(options));
    server_->start(
        [this](const HttpRequest& request, const std::shared_ptr<HttpExchange>& exchange) {
          service_->handle(request, exchange);
        },
        [this] { service_->tick(Service::Clock::now()); }, std::chrono::milliseconds(20));
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~ServedBytes() {
    loop_.stop();
    thread_.join();
    server_.reset();
  }
  ServedBytes(const ServedBytes&) = delete;
  ServedBytes& operator=(const ServedBytes&) = delete;

  int port() const { return server_->port(); }
  /// Has the server's thread work on its service.
  template <class Task>
  void with_service(Task task) {
    server_->post([this, task] { task(*service_); });
  }
  ClientReply post(const std::string& target, const nlohmann::ordered_json& body) const {
    return ask(port(), "POST", target, body.dump());
  }
  std::string metric(const std::string& name) const {
    const std::string text = "\n" + ask(port(), "GET", "/metrics").body;
    const auto at = text.find("\n" + name + " ");
    if (at == text.npos) return {};
    const auto begin = at + name.size() + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  FakeEngine engine;

 private:
  ServedModel model_;
  EngineLoop loop_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<Service> service_;
  std::thread thread_;
};

}  // namespace triax::test

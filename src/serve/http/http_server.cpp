// SPDX-License-Identifier: Apache-2.0
#include "src/serve/http/http_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <thread>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/serve/http/connection.hpp"

namespace triax {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds accept_pause{100};  // after a failure, as of file descriptors

tcp::endpoint endpoint_of(asio::io_context& context, const std::string& host, int port) {
  tcp::resolver resolver(context);
  error_code error;
  const auto found = resolver.resolve(
      host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty())
    throw UsageError("serve.host " + host + " is not an address of this machine", error.message(),
                     "Set serve.host to 127.0.0.1, 0.0.0.0 or the name of this machine");
  return found.begin()->endpoint();
}

}  // namespace

struct HttpServer::State {
  ConnectionHost host;  // outlives the connections, which end with the context
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer ticks{context}, pause{context};
  asio::signal_set interrupts{context};
  Task tick;
  std::chrono::milliseconds period{};
  bool accepting = false;
  std::thread thread;

  void listen(const tcp::endpoint& endpoint);
  void accept();
  void next_tick();
};

void HttpServer::State::listen(const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    throw UsageError(fmt::format("no server can listen on {}:{}", endpoint.address().to_string(),
                                 endpoint.port()),
                     error.message(), "Set serve.port to another port; 0 takes any free one");
}

void HttpServer::State::accept() {
  if (accepting || host.connections.size() >= host.limits.connections) return;
  accepting = true;
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    accepting = false;
    if (error == asio::error::operation_aborted) return;
    if (error) {
      pause.expires_after(accept_pause);
      pause.async_wait([this](error_code aborted) {
        if (!aborted) accept();
      });
      return;
    }
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    std::make_shared<Connection>(std::move(socket), host)->start();
    accept();
  });
}

void HttpServer::State::next_tick() {
  ticks.expires_after(period);
  ticks.async_wait([this](error_code aborted) {
    if (aborted) return;
    tick();
    next_tick();
  });
}

HttpServer::HttpServer(const std::string& host, int port, const HttpLimits& limits)
    : state_(std::make_shared<State>()) {
  state_->host.limits = limits;
  state_->listen(endpoint_of(state_->context, host, port));
  const tcp::endpoint bound = state_->acceptor.local_endpoint();
  address_ = bound.address().to_string();
  port_ = bound.port();
}

HttpServer::~HttpServer() {
  State& state = *state_;
  state.context.stop();
  if (state.thread.joinable()) state.thread.join();
  state.host.closed = nullptr;
  const std::set<Connection*> open = state.host.connections;
  std::vector<std::shared_ptr<Connection>> held;  // abandon() may drop the last reference
  for (Connection* one : open) held.push_back(one->shared_from_this());
  for (const auto& one : held) one->abandon();
}

void HttpServer::start(HttpHandler handler, Task tick, std::chrono::milliseconds period) {
  State& state = *state_;
  state.host.handler = std::move(handler);
  state.host.closed = [&state] { state.accept(); };
  state.tick = std::move(tick);
  state.period = period;
  state.accept();
  state.next_tick();
  state.thread = std::thread([&state] { state.context.run(); });
}

void HttpServer::post(Task task) {
  asio::post(state_->context, std::move(task));
}

void HttpServer::on_interrupt(Task task) {
  post([&state = *state_, task = std::move(task)] {
    state.interrupts.add(SIGINT);
    state.interrupts.async_wait([&state, task](error_code aborted, int) {
      if (aborted) return;
      state.interrupts.clear();
      task();
    });
  });
}

std::size_t HttpServer::open_replies() const {
  return state_->host.open_replies;
}

}  // namespace triax

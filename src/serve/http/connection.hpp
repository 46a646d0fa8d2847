// SPDX-License-Identifier: Apache-2.0
#pragma once
// One connection of a client: requests one after another, each with its reply. For http_server.cpp.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "src/serve/http/exchange.hpp"

namespace triax {

class Connection;

/// State that connections share. Lives as long as the server's thread.
struct ConnectionHost {
  HttpLimits limits;
  HttpHandler handler;
  std::size_t open_replies = 0;
  std::set<Connection*> connections;
  std::function<void()> closed;  // a connection has ended; may be empty
};

/// A request's way back. Keeps its connection until the reply has ended.
class ConnectionExchange : public HttpExchange {
 public:
  explicit ConnectionExchange(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}
  void reply(HttpReply reply) override;
  void begin(const HttpReply& head) override;
  void write(std::string_view text) override;
  void end() override;

 private:
  friend Connection;
  std::shared_ptr<Connection> connection_;  // null once the reply has ended or the client is gone
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;

  Connection(Socket socket, ConnectionHost& host);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { read_head(host_.limits.request); }
  /// Ends it at once.
  void abandon();

  // For its exchange.
  void send_head(const HttpReply& head, std::optional<std::size_t> length);
  void send_body(std::string_view text);
  void send_chunk(std::string_view text);
  void finish_reply();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void read_head(std::chrono::seconds patience);
  void read_body();
  void handle();
  void refuse(Error error);
  // Reads on while a reply is made: sees the end of the client, and keeps what it sends.
  void watch();
  void send(std::string bytes);
  void write_next();
  void after_reply();
  void close_gently();
  void drain();
  void open_exchange();
  void expire_after(std::chrono::seconds time);

  ConnectionHost& host_;
  Socket socket_;
  boost::asio::steady_timer deadline_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<ConnectionExchange> exchange_;  // of the request under way
  std::deque<std::string> out_;
  std::size_t unsent_ = 0;
  bool keep_ = true, chunked_ = false, head_only_ = false;
  bool watching_ = false, writing_ = false, replied_ = false, draining_ = false, closed_ = false;
};

}  // namespace triax

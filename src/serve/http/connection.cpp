// SPDX-License-Identifier: Apache-2.0
#include "src/serve/http/connection.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

namespace triax {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t read_ahead = std::size_t{64} << 10;  // bytes of later requests that are kept
constexpr std::size_t watch_bytes = 4096;
constexpr std::chrono::seconds drain_time{2};

std::string header_of(const http::request<http::string_body>& request, http::field field) {
  const auto value = request[field];
  return {value.data(), value.size()};
}

// Status of a reply to bytes that are no request.
int status_of(boost::system::error_code error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  return 400;
}

}  // namespace

void ConnectionExchange::reply(HttpReply reply) {
  if (!connection_) return;
  connection_->send_head(reply, reply.body.size());
  if (connection_) connection_->send_body(reply.body);
  end();
}

void ConnectionExchange::begin(const HttpReply& head) {
  if (connection_) connection_->send_head(head, {});
}

void ConnectionExchange::write(std::string_view text) {
  if (connection_ && !text.empty()) connection_->send_chunk(text);
}

void ConnectionExchange::end() {
  on_gone = nullptr;
  if (const auto connection = std::exchange(connection_, nullptr)) connection->finish_reply();
}

Connection::Connection(Socket socket, ConnectionHost& host)
    : host_(host), socket_(std::move(socket)), deadline_(socket_.get_executor()) {
  host_.connections.insert(this);
}

Connection::~Connection() {
  abandon();
  host_.connections.erase(this);
  if (host_.closed) host_.closed();
}

void Connection::abandon() {
  if (closed_) return;
  closed_ = true;
  Error ignored;
  socket_.close(ignored);
  deadline_.cancel();
  if (!exchange_) return;
  --host_.open_replies;
  const auto exchange = std::exchange(exchange_, nullptr);
  const auto self = std::exchange(exchange->connection_, nullptr);
  const auto on_gone = std::exchange(exchange->on_gone, nullptr);
  if (!replied_ && on_gone) on_gone();
}

void Connection::expire_after(std::chrono::seconds time) {
  deadline_.expires_after(time);
  deadline_.async_wait([weak = weak_from_this()](Error error) {
    const auto self = weak.lock();  // the time may have been moved while this call was due
    if (self && !error && self->deadline_.expiry() <= std::chrono::steady_clock::now())
      self->abandon();
  });
}

void Connection::open_exchange() {
  replied_ = false;
  exchange_ = std::make_shared<ConnectionExchange>(shared_from_this());
  ++host_.open_replies;
}

void Connection::read_head(std::chrono::seconds patience) {
  parser_.emplace();
  parser_->header_limit(host_.limits.header_bytes);
  parser_->body_limit(host_.limits.body_bytes);
  expire_after(patience);
  http::async_read_header(socket_, buffer_, *parser_,
                          [self = shared_from_this()](Error error, std::size_t) {
                            if (error) return self->refuse(error);
                            self->read_body();
                          });
}

void Connection::read_body() {
  expire_after(host_.limits.request);
  if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue"))
    send("HTTP/1.1 100 Continue\r\n\r\n");
  http::async_read(socket_, buffer_, *parser_,
                   [self = shared_from_this()](Error error, std::size_t) {
                     if (error) return self->refuse(error);
                     self->handle();
                   });
}

void Connection::refuse(Error error) {
  if (error.category() != http::make_error_code(http::error::bad_target).category() ||
      error == http::error::end_of_stream || error == http::error::partial_message)
    return abandon();
  keep_ = chunked_ = head_only_ = false;
  open_exchange();
  exchange_->reply(
      {status_of(error),
       fmt::format(R"({{"error":{{"message":"the request is refused ({}). Send a smaller, )"
                   R"(well-formed HTTP request","type":"invalid_request_error","param":null,)"
                   R"("code":null}}}})",
                   error.message())});
}

void Connection::handle() {
  deadline_.expires_at(std::chrono::steady_clock::time_point::max());
  http::request<http::string_body> request = parser_->release();
  keep_ = request.keep_alive();
  chunked_ = request.version() >= 11;
  head_only_ = request.method() == http::verb::head;
  const auto method = request.method_string();
  const auto target = request.target();
  HttpRequest plain{.method = head_only_ ? "GET" : std::string(method.data(), method.size()),
                    .target = std::string(target.data(), target.size()),
                    .authorization = header_of(request, http::field::authorization),
                    .host = header_of(request, http::field::host),
                    .origin = header_of(request, http::field::origin),
                    .body = std::move(request.body())};
  open_exchange();
  const auto exchange = exchange_;  // the reply may come at once
  watch();
  host_.handler(std::move(plain), exchange);
}

void Connection::watch() {
  if (watching_ || closed_ || buffer_.size() > read_ahead) return;
  watching_ = true;
  socket_.async_read_some(buffer_.prepare(watch_bytes),
                          [self = shared_from_this()](Error error, std::size_t bytes) {
                            self->watching_ = false;
                            if (error && error != boost::asio::error::operation_aborted)
                              return self->abandon();
                            if (self->closed_) return;
                            if (self->draining_) return self->drain();
                            if (!error) self->buffer_.commit(bytes);
                            if (self->exchange_) return self->watch();
                            self->read_head(self->host_.limits.request);
                          });
}

void Connection::send_head(const HttpReply& head, std::optional<std::size_t> length) {
  if (!length && !chunked_) keep_ = false;  // HTTP/1.0: the end of the connection ends the reply
  chunked_ = !length && chunked_;
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(head.status)));
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\nServer: triax\r\nContent-Type: {}\r\n", head.status,
                  std::string_view(reason.data(), reason.size()), head.type);
  for (const auto& [name, value] : head.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (length) text += fmt::format("Content-Length: {}\r\n", *length);
  if (chunked_) text += "Transfer-Encoding: chunked\r\n";
  send(text + (keep_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n"));
}

void Connection::send_body(std::string_view text) {
  if (!head_only_ && !text.empty()) send(std::string(text));
}

void Connection::send_chunk(std::string_view text) {
  if (head_only_) return;
  send(chunked_ ? fmt::format("{:x}\r\n{}\r\n", text.size(), text) : std::string(text));
}

void Connection::finish_reply() {
  if (chunked_ && !head_only_) send("0\r\n\r\n");
  replied_ = true;
  if (!writing_) after_reply();
}

void Connection::send(std::string bytes) {
  if (closed_) return;
  if (unsent_ > host_.limits.unsent_bytes) {  // not at once: the caller's reply still exists
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->abandon(); });
    return;
  }
  unsent_ += bytes.size();
  out_.push_back(std::move(bytes));
  if (!writing_) write_next();
}

void Connection::write_next() {
  writing_ = true;
  boost::asio::async_write(socket_, boost::asio::buffer(out_.front()),
                           [self = shared_from_this()](Error error, std::size_t bytes) {
                             self->writing_ = false;
                             if (error) return self->abandon();
                             self->unsent_ -= bytes;
                             self->out_.pop_front();
                             if (!self->out_.empty()) return self->write_next();
                             if (self->replied_ && self->exchange_) self->after_reply();
                           });
}

void Connection::after_reply() {
  if (closed_) return;
  --host_.open_replies;
  exchange_.reset();
  if (!keep_) return close_gently();
  if (!watching_) return read_head(host_.limits.idle);
  expire_after(host_.limits.idle);  // watch() goes on with the next request
  if (buffer_.size() == 0) return;
  Error ignored;
  socket_.cancel(ignored);  // it may be here already
}

// A close with unread bytes would reset the connection before the client has read the reply.
void Connection::close_gently() {
  draining_ = true;
  Error ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  expire_after(drain_time);
  if (!watching_) drain();
}

void Connection::drain() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(watch_bytes),
                          [self = shared_from_this()](Error error, std::size_t) {
                            if (error) return self->abandon();
                            self->drain();
                          });
}

}  // namespace triax

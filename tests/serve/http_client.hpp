// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plain HTTP client: one connection, bytes in and out.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace triax::test {

struct ClientReply {
  int status = 0;  // 0: the connection has ended without a reply
  std::string head, body;
  nlohmann::ordered_json json() const {
    return nlohmann::ordered_json::parse(body, nullptr, false);
  }
};

class HttpClient {
 public:
  int patience = 20000;  // milliseconds that it waits for bytes

  explicit HttpClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~HttpClient() { close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const { return connected_; }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void send(const std::string& bytes) const {
    (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void ask(const std::string& method, const std::string& target, const std::string& body = {},
           const std::string& headers = "Host: localhost\r\n") const {
    send(method + " " + target + " HTTP/1.1\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  /// Reads until `end` is there, or as much as comes.
  std::string read_until(const std::string& end) {
    while (received_.find(end) == received_.npos && receive()) {
    }
    const std::size_t at = received_.find(end);
    return take(at == received_.npos ? received_.size() : at + end.size());
  }
  /// Reads one reply: with Content-Length or in chunks.
  ClientReply reply() {
    ClientReply found;
    found.head = read_until("\r\n\r\n");
    if (found.head.size() < 12) return found;
    found.status = std::atoi(found.head.c_str() + 9);
    if (found.status == 100) return reply();
    if (const auto at = found.head.find("Content-Length: "); at != found.head.npos) {
      const std::size_t size = std::strtoull(found.head.c_str() + at + 16, nullptr, 10);
      while (received_.size() < size && receive()) {
      }
      found.body = take(size);
      return found;
    }
    while (true) {
      const std::size_t size = std::strtoull(read_until("\r\n").c_str(), nullptr, 16);
      while (received_.size() < size + 2 && receive()) {
      }
      found.body += take(size);
      take(2);
      if (size == 0) return found;
    }
  }

 private:
  bool receive() {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, patience) <= 0) return false;
    std::array<char, 4096> part{};
    const ssize_t bytes = ::recv(socket_, part.data(), part.size(), 0);
    if (bytes > 0) received_.append(part.data(), static_cast<std::size_t>(bytes));
    return bytes > 0;
  }
  std::string take(std::size_t size) {
    std::string found = received_.substr(0, size);
    received_.erase(0, size);
    return found;
  }

  int socket_;
  bool connected_ = false;
  std::string received_;
};

/// One request on a connection of its own.
inline ClientReply ask(int port, const std::string& method, const std::string& target,
                       const std::string& body = {},
                       const std::string& headers = "Host: localhost\r\n") {
  HttpClient client(port);
  client.ask(method, target, body, headers);
  return client.reply();
}

/// Waits until `done` or for 20 s.
template <class Done>
bool comes_true(Done&& done) {
  for (int i = 0; i < 2000; ++i) {
    if (done()) return true;
    ::usleep(10000);
  }
  return false;
}

}  // namespace triax::test

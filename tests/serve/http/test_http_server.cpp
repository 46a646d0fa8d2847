// SPDX-License-Identifier: Apache-2.0
// HttpServer with its connections and exchanges, over real sockets.
#include "src/serve/http/http_server.hpp"

#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <random>

#include "tests/serve/http_client.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

// Replies with the request, after `late` milliseconds for /late and never for /never.
class Echo {
 public:
  explicit Echo(const HttpLimits& limits = {}) : server_("127.0.0.1", 0, limits) {
    server_.start(
        [this](const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) {
          answer(request, std::move(exchange));
        },
        [this] { tick(); }, std::chrono::milliseconds(10));
  }
  int port() const { return server_.port(); }
  std::atomic<int> gone = 0, open = 0;

 private:
  void answer(const HttpRequest& request, std::shared_ptr<HttpExchange> exchange) {
    if (request.target == "/never" || request.target == "/flood") {
      exchange->on_gone = [this] { ++gone; };
      held_.push_back(exchange);
      if (request.target == "/flood") exchange->begin({});
    } else if (request.target == "/events") {
      exchange->begin({.status = 200, .body = {}, .type = "text/event-stream", .headers = {}});
      exchange->write("one ");
      exchange->write("two");
      exchange->end();
    } else {
      exchange->reply({.status = 200, .body = request.method + request.target + request.body});
    }
  }
  void tick() {
    open = static_cast<int>(server_.open_replies());
    for (const auto& one : held_) one->write(std::string(std::size_t{1} << 16, 'x'));
  }

  std::vector<std::shared_ptr<HttpExchange>> held_;
  HttpServer server_;
};

TEST(HttpServer, KeepsConnectionsAndTakesRequestsAhead) {
  const Echo echo;
  HttpClient client(echo.port());
  client.ask("GET", "/a");
  EXPECT_EQ(client.reply().body, "GET/a");
  client.send(
      "POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nxyGET /c HTTP/1.1\r\n\r\nGET /d HTTP/1.1\r\n"
      "Connection: close\r\n\r\n");
  EXPECT_EQ(client.reply().body, "POST/bxy");
  EXPECT_EQ(client.reply().body, "GET/c");
  const ClientReply last = client.reply();
  EXPECT_EQ(last.body, "GET/d");
  EXPECT_THAT(last.head, HasSubstr("Connection: close"));
  EXPECT_EQ(client.reply().status, 0) << "it has been closed";
}

TEST(HttpServer, StreamsInChunksOrUntilTheEnd) {
  const Echo echo;
  EXPECT_EQ(ask(echo.port(), "GET", "/events").body, "one two");
  HttpClient old(echo.port());
  old.send("GET /events HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_until("\r\n\r\n"), Not(HasSubstr("chunked")));
  EXPECT_EQ(old.read_until("never"), "one two");
}

TEST(HttpServer, HeadHasNoBodyAndExpectIsAnswered) {
  const Echo echo;
  HttpClient client(echo.port());
  client.send("HEAD /a HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Content-Length: 5"));
  client.send("POST /b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("z");
  EXPECT_EQ(client.reply().body, "POST/bz");
}

TEST(HttpServer, LimitsOfRequests) {
  const Echo echo({.body_bytes = 100, .header_bytes = 1000});
  EXPECT_EQ(ask(echo.port(), "POST", "/", std::string(101, 'x')).status, 413);
  EXPECT_EQ(ask(echo.port(), "POST", "/", std::string(100, 'x')).status, 200);
  EXPECT_EQ(ask(echo.port(), "GET", "/" + std::string(2000, 'x')).status, 431);
  HttpClient client(echo.port());
  client.send("this is no request\r\n\r\n");
  EXPECT_EQ(client.reply().status, 400);
  const ClientReply bad = ask(echo.port(), "GET", "/", "", "Content-Length: -1\r\n");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.json()["error"]["type"], "invalid_request_error");
}

TEST(HttpServer, SlowRequestsAndIdleConnectionsEnd) {
  const Echo echo({.request = std::chrono::seconds(1), .idle = std::chrono::seconds(1)});
  HttpClient idle(echo.port()), slow(echo.port());
  idle.ask("GET", "/a");
  EXPECT_EQ(idle.reply().status, 200);
  EXPECT_EQ(idle.reply().status, 0);
  slow.send("GET / HT");
  EXPECT_EQ(slow.reply().status, 0);
}

TEST(HttpServer, SeesThatAClientHasGone) {
  Echo echo;
  {
    HttpClient client(echo.port());
    client.ask("GET", "/never");
    ASSERT_TRUE(comes_true([&] { return echo.open == 1; }));
  }
  EXPECT_TRUE(comes_true([&] { return echo.gone == 1 && echo.open == 0; }));
}

TEST(HttpServer, AClientThatDoesNotReadIsGone) {
  Echo echo({.unsent_bytes = 1 << 20});
  HttpClient client(echo.port());
  client.ask("GET", "/flood");
  EXPECT_TRUE(comes_true([&] { return echo.gone == 1; }));
}

TEST(HttpServer, MoreConnectionsThanTheLimitWait) {
  const Echo echo({.connections = 2});
  HttpClient first(echo.port()), second(echo.port()), third(echo.port());
  third.ask("GET", "/third");
  first.ask("GET", "/a");
  EXPECT_EQ(first.reply().status, 200);
  first.close();
  EXPECT_EQ(third.reply().body, "GET/third");
}

TEST(HttpServer, RefusesAddressesThatItCannotHave) {
  const HttpServer server("127.0.0.1", 0, {});
  EXPECT_THAT(error_of([&] { const HttpServer other("127.0.0.1", server.port(), {}); }),
              HasSubstr("Set serve.port to another port"));
  EXPECT_THAT(error_of([&] { const HttpServer other("no such host.", 0, {}); }),
              HasSubstr("serve.host"));
}

TEST(HttpServer, TheFirstInterruptIsATask) {
  std::atomic<bool> interrupted = false;
  HttpServer server("127.0.0.1", 0, {});
  server.start([](const HttpRequest&, const std::shared_ptr<HttpExchange>&) {}, [] {},
               std::chrono::seconds(1));
  std::atomic<bool> ready = false;
  server.on_interrupt([&] { interrupted = true; });
  server.post([&] { ready = true; });
  ASSERT_TRUE(comes_true([&] { return ready.load(); }));
  ::kill(::getpid(), SIGINT);
  EXPECT_TRUE(comes_true([&] { return interrupted.load(); }));
}

}  // namespace
}  // namespace triax::test

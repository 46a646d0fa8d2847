// SPDX-License-Identifier: Apache-2.0
// Requests that are refused, broken off or too late.
#include <gmock/gmock.h>

#include "src/serve/service.hpp"
#include "tests/serve/served_bytes.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

TEST(ServiceRefusals, RefusalsNameTheField) {
  const ServedBytes server;
  const auto refused = [&](const json& body, int status, const json& param) {
    const ClientReply reply = server.post("/v1/completions", body);
    EXPECT_EQ(reply.status, status) << body << reply.body;
    EXPECT_EQ(reply.json()["error"]["param"], param) << body;
    return reply.json()["error"];
  };
  refused({{"prompt", "a"}, {"temperature", 3}}, 400, "temperature");
  refused({{"prompt", "a"}, {"stop", {"x", ""}}}, 400, "stop");
  refused({{"prompt", "a"}, {"n", 17}}, 400, "n");
  refused({{"prompt", "a"}, {"max_tokens", 0}}, 400, "max_tokens");
  refused({{"prompt", "a"}, {"logit_bias", {{"300", 1}}}}, 400, "logit_bias");
  refused({{"prompt", "a"}, {"stream_options", {{"include_usage", true}}}}, 400, "stream_options");
  refused({{"prompt", {1, 256}}}, 400, "prompt");
  refused({{"prompt", ""}}, 400, "prompt");
  refused({{"model", "bytes"}}, 400, "prompt");
  refused({{"prompt", "a"}, {"suffix", "b"}}, 400, "suffix");
  EXPECT_EQ(refused({{"prompt", "a"}, {"model", "gpt-4"}}, 404, "model")["code"],
            "model_not_found");
  EXPECT_EQ(refused({{"prompt", std::string(64, 'a')}}, 400, "prompt")["code"],
            "context_length_exceeded");
  EXPECT_EQ(refused(json::array(), 400, nullptr)["type"], "invalid_request_error");
}

TEST(ServiceRefusals, OtherErrorsHaveTheirStatus) {
  ServedBytes server;
  EXPECT_EQ(ask(server.port(), "GET", "/v1/nothing").status, 404);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/completions").status, 405);
  EXPECT_EQ(ask(server.port(), "POST", "/v1/completions", "{\"prompt\": \"\xff\"}").status, 400);
  EXPECT_EQ(ask(server.port(), "POST", "/v1/completions", "{\"prompt\": \"\\ud800\"}").status, 400);
  EXPECT_EQ(ask(server.port(), "POST", "/v1/completions", std::string(1000, '[')).status, 400);
  const ClientReply failed = server.post("/v1/completions", {{"prompt", "!a"}});
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.head, HasSubstr("x-should-retry: false"));
  const ClientReply stream = server.post("/v1/completions", {{"prompt", "!a"}, {"stream", true}});
  EXPECT_EQ(stream.status, 500) << "before the first event an error has its status";
}

TEST(ServiceRefusals, KeysGuardAllButHealth) {
  const ServedBytes server({.keys = ApiKeys({"secret"}), .limits = {}, .host = {}, .stall = 60});
  EXPECT_EQ(ask(server.port(), "GET", "/health").status, 200);
  const ClientReply without = ask(server.port(), "GET", "/v1/models");
  EXPECT_EQ(without.status, 401);
  EXPECT_EQ(without.json()["error"]["code"], "invalid_api_key");
  EXPECT_EQ(ask(server.port(), "GET", "/metrics", "", "Authorization: Bearer secreT\r\n").status,
            401);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "",
                "Host: any.name\r\nAuthorization: Bearer secret\r\n")
                .status,
            200);
}

TEST(ServiceRefusals, WithoutKeysPagesFromElsewhereAreRefused) {
  const ServedBytes server;
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "", "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "",
                "Host: localhost:8000\r\nOrigin: http://evil.example\r\n")
                .status,
            403);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models", "",
                "Host: localhost:8000\r\nOrigin: http://localhost:8000\r\n")
                .status,
            200);
}

TEST(ServiceRefusals, AClientThatLeavesEndsItsWork) {
  ServedBytes server;
  server.engine.pause = std::chrono::milliseconds(20);
  for (const char* more : {R"(, "stream": true)", ""}) {
    const int before = server.engine.cancelled;
    {
      HttpClient client(server.port());
      client.ask("POST", "/v1/completions",
                 std::string(R"({"prompt": "ab", "max_tokens": 60, "n": 2)") + more + "}");
      ASSERT_TRUE(comes_true([&] { return server.metric("triax_requests_running") == "2"; }));
    }
    EXPECT_TRUE(comes_true([&] { return server.engine.cancelled == before + 2; })) << more;
  }
  EXPECT_EQ(server.metric("triax_requests_cancelled_total"), "2");
}

TEST(ServiceRefusals, AFullQueueSaysWhenToComeAgain) {
  ServedBytes server({.keys = {},
                      .limits = {.waiting = 2, .waiting_tokens = 100, .deadline = 0},
                      .host = "127.0.0.1",
                      .stall = 60});
  server.engine.pause = std::chrono::milliseconds(50);
  HttpClient first(server.port());
  first.ask("POST", "/v1/completions", R"({"prompt": "ab", "max_tokens": 30, "n": 2})");
  ASSERT_TRUE(comes_true([&] { return server.metric("triax_requests_running") == "2"; }));
  const ClientReply second =
      server.post("/v1/completions", {{"prompt", "ab"}, {"max_tokens", 1}, {"n", 3}});
  EXPECT_EQ(second.status, 429);
  EXPECT_THAT(second.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(second.json()["error"]["code"], "rate_limit_exceeded");
  EXPECT_EQ(first.reply().status, 200);
}

TEST(ServiceRefusals, DeadlinesAndDraining) {
  ServedBytes server({.keys = {},
                      .limits = {.waiting = 9, .waiting_tokens = 100, .deadline = 0.2},
                      .host = "127.0.0.1",
                      .stall = 60});
  server.engine.pause = std::chrono::milliseconds(20);
  EXPECT_EQ(server.post("/v1/completions", {{"prompt", "ab"}, {"max_tokens", 60}}).status, 504);
  EXPECT_EQ(ask(server.port(), "GET", "/health").json()["status"], "ok");
  server.with_service([](Service& service) { service.drain(); });
  EXPECT_EQ(server.post("/v1/completions", {{"prompt", "ab"}}).status, 503);
  const ClientReply health = ask(server.port(), "GET", "/health");
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.json()["status"], "draining");
}

TEST(ServiceRefusals, HealthSaysThatNoStepAdvances) {
  ServedBytes server({.keys = {}, .limits = {}, .host = "127.0.0.1", .stall = 0.1});
  server.engine.pause = std::chrono::milliseconds(1000);
  HttpClient client(server.port());
  client.ask("POST", "/v1/completions", R"({"prompt": "ab", "max_tokens": 2})");
  EXPECT_TRUE(comes_true(
      [&] { return ask(server.port(), "GET", "/health").json()["status"] == "stalled"; }));
  EXPECT_EQ(client.reply().status, 200);
}

}  // namespace
}  // namespace triax::test

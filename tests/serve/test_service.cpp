// SPDX-License-Identifier: Apache-2.0
#include "src/serve/service.hpp"

#include <gmock/gmock.h>

#include "tests/serve/served_bytes.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

TEST(Service, PathsAreDecodedWithoutTheirQuery) {
  EXPECT_EQ(path_of("/v1/models/a%2Fb?x=%20"), "/v1/models/a/b");
  EXPECT_EQ(path_of("/100%"), "/100%");
  EXPECT_EQ(path_of("/%zz"), "/%zz");
}

TEST(Service, NamesItsModels) {
  const ServedBytes server;
  const json list = ask(server.port(), "GET", "/v1/models").json();
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0]["id"], "bytes");
  EXPECT_EQ(list["data"][1]["id"], "org/alias");
  EXPECT_EQ(list["data"][0]["max_model_len"], FakeEngine::most);
  EXPECT_EQ(ask(server.port(), "GET", "/v1/models/org%2Falias").json()["id"], "org/alias");
  const ClientReply unknown = ask(server.port(), "GET", "/v1/models/other");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.json()["error"]["code"], "model_not_found");
}

TEST(Service, Completes) {
  const ServedBytes server;
  const ClientReply reply =
      server.post("/v1/completions", {{"model", "bytes"}, {"prompt", "abc"}, {"max_tokens", 5}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json body = reply.json();
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"][0]["text"], "abcab");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["choices"][0]["logprobs"], nullptr);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 5);
  EXPECT_EQ(body["usage"]["total_tokens"], 8);
  EXPECT_THAT(reply.head, HasSubstr("x-request-id: " + body["id"].get<std::string>()));
}

TEST(Service, AnswersEachPromptNTimesInOrder) {
  const ServedBytes server;
  const json body =
      server.post("/v1/completions", {{"prompt", {"ab", "xy"}}, {"max_tokens", 2}, {"n", 3}})
          .json();
  ASSERT_EQ(body["choices"].size(), 6U) << body;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["text"], i < 3 ? "ab" : "xy");
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(body["usage"]["completion_tokens"], 12);
}

// Events of a stream, without "data: ".
std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (std::size_t at = 0; (at = body.find("data: ", at)) != body.npos;) {
    const std::size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end;
  }
  return events;
}

TEST(Service, StreamsTheSameText) {
  const ServedBytes server;
  const ClientReply reply =
      server.post("/v1/completions", {{"prompt", "a\u010d\U0001F600"},
                                      {"max_tokens", 10},
                                      {"stream", true},
                                      {"stream_options", {{"include_usage", true}}}});
  EXPECT_THAT(reply.head, HasSubstr("text/event-stream; charset=utf-8"));
  const auto events = events_of(reply.body);
  ASSERT_GE(events.size(), 3U);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string text, id;
  for (std::size_t i = 0; i + 2 < events.size(); ++i) {
    const json event = json::parse(events[i]);
    text += event["choices"][0]["text"].get<std::string>();
    EXPECT_EQ(event["usage"], nullptr);
    if (id.empty()) id = event["id"];
    EXPECT_EQ(event["id"], id);
    EXPECT_EQ(event["choices"][0]["finish_reason"],
              i + 3 == events.size() ? json("length") : json());
  }
  EXPECT_EQ(text, "a\u010d\U0001F600a\u010d");
  const json last = json::parse(events[events.size() - 2]);
  EXPECT_TRUE(last["choices"].empty());
  EXPECT_EQ(last["usage"]["completion_tokens"], 10);
}

TEST(Service, ChatsPlainAndInAStream) {
  const ServedBytes server;
  json body = {{"messages", {{{"role", "user"}, {"content", "abc"}}}}, {"max_tokens", 5}};
  const json plain = server.post("/v1/chat/completions", body).json();
  EXPECT_EQ(plain["object"], "chat.completion");
  EXPECT_EQ(plain["choices"][0]["message"]["content"], "abcab") << plain;
  body["stream"] = true;
  const auto events = events_of(server.post("/v1/chat/completions", body).body);
  ASSERT_GE(events.size(), 4U);
  EXPECT_EQ(json::parse(events[0])["choices"][0]["delta"],
            (json{{"role", "assistant"}, {"content", ""}}));
  std::string text;
  for (std::size_t i = 0; i + 1 < events.size(); ++i)
    text += json::parse(events[i])["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(text, "abcab");
  EXPECT_EQ(json::parse(events[events.size() - 2])["choices"][0]["finish_reason"], "length");
}

TEST(Service, ScoresAPromptAsHarnessesAsk) {
  const ServedBytes server;
  const json body = server
                        .post("/v1/completions", {{"prompt", json::array({104, 101, 121})},
                                                  {"max_tokens", 0},
                                                  {"echo", true},
                                                  {"logprobs", 2}})
                        .json();
  const json& choice = body["choices"][0];
  EXPECT_EQ(choice["text"], "hey");
  EXPECT_EQ(choice["logprobs"]["tokens"], (json{"h", "e", "y"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], (json{nullptr, -1.0, -1.0}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], (json{0, 1, 2}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][1], (json{{"e", -1.0}, {"f", -2.0}}));
  EXPECT_EQ(choice["logprobs"]["top_logprobs"][0], nullptr);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
}

TEST(Service, Embeds) {
  const ServedBytes server;
  json body = server.post("/v1/embeddings", {{"input", {"ab", "c"}}}).json();
  EXPECT_EQ(body["object"], "list") << body;
  ASSERT_EQ(body["data"].size(), 2U);
  EXPECT_EQ(body["data"][1]["index"], 1);
  EXPECT_EQ(body["data"][0]["pooling"], "mean");
  EXPECT_FLOAT_EQ(body["data"][0]["embedding"][0].get<float>(), 0.6F) << "of length 1";
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  body = server
             .post("/v1/embeddings",
                   {{"input", {1, 2}}, {"encoding_format", "base64"}, {"pooling", "last"}})
             .json();
  EXPECT_EQ(body["data"][0]["embedding"], "AAAAAAAAgD8=") << "0 and 1 as float32";
  const auto refused = [&](const json& request) {
    return server.post("/v1/embeddings", request).json()["error"]["param"];
  };
  EXPECT_EQ(refused({{"input", json::array()}}), "input");
  EXPECT_EQ(refused({{"input", "a"}, {"pooling", "max"}}), "pooling");
  EXPECT_EQ(refused({{"input", "a"}, {"dimensions", 3}}), "dimensions");
  EXPECT_EQ(refused({{"input", "a"}, {"encoding_format", "int8"}}), "encoding_format");
  EXPECT_EQ(refused({{"prompt", "a"}}), "input");
}

TEST(Service, ScoresGivenAnswers) {
  const ServedBytes server;
  const json body =
      server.post("/v1/completions", {{"prompt", "abc"}, {"score", {"de", "f"}}}).json();
  ASSERT_EQ(body["choices"].size(), 2U) << body;
  EXPECT_EQ(body["object"], "score");
  EXPECT_EQ(body["choices"][0]["text"], "de");
  EXPECT_EQ(body["choices"][0]["logprob"], -2.0);
  EXPECT_EQ(body["choices"][0]["greedy"], true);
  EXPECT_EQ(body["choices"][0]["logprobs"]["tokens"], (json{"d", "e"}));
  EXPECT_EQ(body["choices"][1]["logprob"], -1.0);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
}

TEST(Service, TokenizesAndBack) {
  const ServedBytes server;
  const json tokens =
      server.post("/tokenize", {{"prompt", "hi"}, {"return_token_strs", true}}).json();
  EXPECT_EQ(tokens["tokens"], (json{104, 105}));
  EXPECT_EQ(tokens["count"], 2);
  EXPECT_EQ(server.post("/detokenize", {{"tokens", {104, 105}}}).json()["prompt"], "hi");
  EXPECT_EQ(server.post("/detokenize", {{"tokens", {400}}}).status, 400);
}

TEST(Service, MetricsCount) {
  const ServedBytes server;
  server.post("/v1/completions", {{"prompt", "abc"}, {"max_tokens", 5}});
  EXPECT_EQ(server.metric("triax_request_success_total{finished_reason=\"length\"}"), "1");
  EXPECT_EQ(server.metric("triax_time_to_first_token_seconds_count"), "1");
  EXPECT_EQ(server.metric("triax_inter_token_latency_seconds_count"), "4");
  EXPECT_EQ(loading_reply({.method = "GET",
                           .target = "/health",
                           .authorization = {},
                           .host = {},
                           .origin = {},
                           .body = {}})
                .status,
            503);
}

}  // namespace
}  // namespace triax::test

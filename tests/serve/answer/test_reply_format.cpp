// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/reply_format.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace triax::test {
namespace {

using nlohmann::json;

AnswerDelta half_a_character() {
  AnswerDelta delta;
  delta.text = "a\u010d";
  delta.finished = FinishReason::stop;
  delta.stop = "END";
  delta.tokens = {
      {.bytes = "a", .log_probability = -0.5F, .alternatives = {{"b", -0.25F}}, .offset = 0},
      {.bytes = "\xc4",
       .log_probability = -std::numeric_limits<float>::infinity(),
       .alternatives = {},
       .offset = 1}};
  return delta;
}

TEST(CompletionFormat, HasOpenAIsShape) {
  const auto format = completion_format(true);
  const json choice = json::parse(dump(format->choice(3, half_a_character(), false)));
  EXPECT_EQ(choice, json::parse(R"({"index": 3, "text": "a\u010d", "finish_reason": "stop",
      "stop_reason": "END", "logprobs": {"tokens": ["a", "\ufffd"],
      "token_logprobs": [-0.5, -9999.0], "text_offset": [0, 1],
      "top_logprobs": [{"b": -0.25, "a": -0.5}, {"\ufffd": -9999.0}]}})"));
  EXPECT_EQ(completion_format(false)->choice(0, {}, true)["logprobs"], nullptr);
  EXPECT_EQ(completion_format(false)->choice(0, {}, true)["finish_reason"], nullptr);
}

TEST(ChatFormat, HasOpenAIsShape) {
  const auto format = chat_format(true);
  const json whole = json::parse(dump(format->choice(0, half_a_character(), false)));
  EXPECT_EQ(whole["message"],
            json::parse(R"({"role": "assistant", "content": "a\u010d", "refusal": null})"));
  EXPECT_EQ(whole["logprobs"]["content"][1]["bytes"], json::array({0xc4}));
  EXPECT_EQ(whole["logprobs"]["content"][0]["top_logprobs"][0]["token"], "b");
  EXPECT_EQ(format->opening(2)["delta"]["role"], "assistant");
  const json event = json::parse(dump(format->choice(0, half_a_character(), true)));
  EXPECT_EQ(event["delta"]["content"], "a\u010d");
  EXPECT_FALSE(event.contains("message"));
  EXPECT_EQ(std::string(format->object(true)), "chat.completion.chunk");
}

TEST(ChatFormat, HasCallsOfFunctions) {
  AnswerDelta delta;
  delta.finished = FinishReason::stop;
  delta.called = true;
  delta.calls = {{.index = 1, .id = "abcdefghi", .name = "f", .arguments = "{\"a\":1}"}};
  const json call = json::parse(
      R"({"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}})");
  const json whole = json::parse(dump(chat_format(false)->choice(0, delta, false)));
  EXPECT_EQ(whole["message"]["content"], nullptr);
  EXPECT_EQ(whole["message"]["tool_calls"], json::array({call}));
  EXPECT_EQ(whole["finish_reason"], "tool_calls");
  json numbered = call;
  numbered["index"] = 1;
  const json event = json::parse(dump(chat_format(false)->choice(0, delta, true)));
  EXPECT_EQ(event["delta"], (json{{"tool_calls", json::array({numbered})}}));
}

TEST(ScoreFormat, SumsTheTokensOfTheAnswer) {
  AnswerDelta delta = half_a_character();
  delta.tokens = {{.bytes = "p", .log_probability = {}, .alternatives = {}},
                  {.bytes = "a", .log_probability = -0.5F, .alternatives = {{"b", -0.25F}}},
                  {.bytes = "\xc4", .log_probability = -1, .alternatives = {{"\xc4", -1}}}};
  const json both = json::parse(dump(score_format({2, 1}, false)->choice(1, delta, false)));
  EXPECT_EQ(both["logprob"], -1.5);
  EXPECT_EQ(both["greedy"], false);
  EXPECT_EQ(both["logprobs"]["tokens"], (json{"a", "\ufffd"}));
  const json last = json::parse(dump(score_format({2, 1}, false)->choice(0, delta, false)));
  EXPECT_EQ(last["logprob"], -1.0);
  EXPECT_EQ(last["greedy"], true);
}

}  // namespace
}  // namespace triax::test

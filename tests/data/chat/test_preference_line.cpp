// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/preference_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

PreferencePair pair_of(const char* line, const ConversationConfig& config = {}) {
  return preference_of_line(ordered_json::parse(line), config);
}

// Contents of the messages, with | in front of the answer.
std::string text_of(const Conversation& conversation, std::size_t prompt) {
  std::string text;
  for (std::size_t i = 0; i < conversation.messages.size(); ++i) {
    const ordered_json& message = conversation.messages[i];
    text += (i == prompt ? "|" : "") + message.at("role").get<std::string>().substr(0, 1) + ":" +
            message.at("content").get<std::string>() + " ";
  }
  return text;
}

void expect_messages(const PreferencePair& pair, const std::string& chosen,
                     const std::string& rejected) {
  EXPECT_TRUE(pair.messages);
  EXPECT_EQ(text_of(pair.chosen, pair.prompt), chosen);
  EXPECT_EQ(text_of(pair.rejected, pair.prompt), rejected);
}

TEST(PreferenceLine, Texts) {
  const PreferencePair pair = pair_of(R"({"prompt": "p", "chosen": "c", "rejected": "r"})");
  EXPECT_FALSE(pair.messages);
  EXPECT_EQ(pair.chosen_text.prompt + "|" + pair.chosen_text.answer, "p|c");
  EXPECT_EQ(pair.rejected_text.prompt + "|" + pair.rejected_text.answer, "p|r");
}

// trl.extract_prompt of {"chosen": "The sky is blue.", "rejected": "The sky is green."} has the
// prompt "The sky is", and the answers begin with the blank.
TEST(PreferenceLine, TextsWithoutAPromptShareTheirBeginning) {
  const auto texts = [](const char* line) {
    const PreferencePair pair = pair_of(line);
    return pair.chosen_text.prompt + "|" + pair.chosen_text.answer + "|" +
           pair.rejected_text.answer;
  };
  EXPECT_EQ(texts(R"({"chosen": "The sky is blue.", "rejected": "The sky is green."})"),
            "The sky is| blue.| green.");
  EXPECT_EQ(texts(R"({"chosen": "ab\u00e4", "rejected": "ab\u00f6"})"), "ab|\u00e4|\u00f6")
      << "characters stay whole";
  EXPECT_EQ(texts(R"({"chosen": "ab", "rejected": "abc"})"), "ab||c");
}

TEST(PreferenceLine, Messages) {
  expect_messages(pair_of(R"({"prompt": [{"role": "user", "content": "p"}],
      "chosen": [{"role": "assistant", "content": "c"}],
      "rejected": [{"role": "assistant", "content": "r"}]})"),
                  "u:p |a:c ", "u:p |a:r ");
  expect_messages(pair_of(R"({"prompt": "p", "chosen": {"role": "assistant", "content": "c"},
      "rejected": "r"})"),
                  "u:p |a:c ", "u:p |a:r ");
}

// The prompt is what both conversations begin with, whatever a field "prompt" repeats of it.
TEST(PreferenceLine, WholeConversations) {
  const char* whole = R"({"prompt": "p", "chosen": [{"role": "user", "content": "p"},
      {"role": "assistant", "content": "c"}], "rejected": [{"role": "user", "content": "p"},
      {"role": "assistant", "content": "r"}]})";
  expect_messages(pair_of(whole), "u:p |a:c ", "u:p |a:r ");
  expect_messages(pair_of(R"({"prompt": [{"role": "user", "content": "p"}],
      "chosen": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "c"}],
      "rejected": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}]})"),
                  "u:p |a:c ", "u:p |a:r ");
}

// An answer is all that comes behind the prompt.
TEST(PreferenceLine, AnswersMayBeginWithATool) {
  expect_messages(pair_of(R"({"prompt": [{"role": "user", "content": "p"}],
      "chosen": [{"role": "tool", "content": "t"}, {"role": "assistant", "content": "c"}],
      "rejected": [{"role": "tool", "content": "t"}, {"role": "assistant", "content": "r"}]})"),
                  "u:p |t:t a:c ", "u:p |t:t a:r ");
}

TEST(PreferenceLine, MapsFieldsAndRoles) {
  ConversationConfig config;
  config.fields = {
      {"prompt", "conversations"}, {"chosen", "good"}, {"role", "from"}, {"content", "value"}};
  expect_messages(pair_of(R"({"conversations": [{"from": "human", "value": "p"}],
      "good": {"from": "gpt", "value": "c"}, "rejected": {"from": "gpt", "value": "r"}})",
                          config),
                  "u:p |a:c ", "u:p |a:r ");
}

TEST(PreferenceLine, RefusesWithTheCause) {
  const auto refused = [](const char* line) { return error_of([&] { (void)pair_of(line); }); };
  EXPECT_THAT(refused(R"({"prompt": "p", "chosen": "c"})"), HasSubstr("no field \"rejected\""));
  EXPECT_THAT(refused(R"({"chosen": "c", "rejected": "c"})"), HasSubstr("are the same"));
  EXPECT_THAT(refused(R"({"chosen": [{"role": "assistant", "content": "c"}], "rejected": "r"})"),
              HasSubstr("no field \"prompt\" (chosen and rejected begin with an answer)"));
  EXPECT_THAT(refused(R"({"chosen": [{"role": "user", "content": "p"}], "rejected": "r"})"),
              HasSubstr("the other does not"));
  EXPECT_THAT(refused(R"({"prompt": "p", "chosen": 1, "rejected": "r"})"),
              HasSubstr("\"chosen\" has no messages"));
}

}  // namespace
}  // namespace triax::test

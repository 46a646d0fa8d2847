// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/conversation_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

TEST(ConversationLine, MapsFieldsAndRoles) {
  ConversationConfig config;
  config.format = "chat";
  config.fields = {{"messages", "conversations"}, {"role", "from"}, {"content", "value"}};
  config.roles = {{"bot", "assistant"}};
  const Conversation conversation = conversation_of_line(
      ordered_json::parse(
          R"({"conversations": [{"from": "human", "value": "a"}, {"from": "bot", "value": "b",
        "tool_calls": []}], "tools": "[{\"name\": \"f\"}]", "chat_template_kwargs": {"x": 1}})"),
      config);
  EXPECT_EQ(
      conversation.messages.dump(),
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[]}])");
  EXPECT_EQ(conversation.tools.dump(), R"([{"name":"f"}])");
  EXPECT_EQ(conversation.variables.dump(), R"({"x":1})");
}

TEST(ConversationLine, PromptsAreAlpacas) {
  ConversationConfig config;
  config.format = "instruction";
  const PromptedText plain =
      prompted_text_of_line({{"instruction", "Add."}, {"output", "3"}}, config);
  EXPECT_THAT(plain.prompt,
              testing::EndsWith("request.\n\n### Instruction:\nAdd.\n\n### Response:\n"));
  EXPECT_EQ(plain.answer, "3");
  const PromptedText more =
      prompted_text_of_line({{"instruction", "Add."}, {"input", "1 2"}, {"output", "3"}}, config);
  EXPECT_THAT(more.prompt, HasSubstr("further context. Write"));
  EXPECT_THAT(more.prompt, testing::EndsWith("\n\n### Input:\n1 2\n\n### Response:\n"));
  config.format = "completion";
  config.fields = {{"prompt", "question"}};
  EXPECT_EQ(prompted_text_of_line({{"question", "q"}, {"completion", "c"}}, config).prompt, "q");
  config.fields["prompt"] = "";
  EXPECT_EQ(prompted_text_of_line({{"question", "q"}, {"completion", "c"}}, config).prompt, "");
}

TEST(ConversationLine, RefusesWithTheCause) {
  ConversationConfig config;
  config.format = "chat";
  const auto refused = [&](const char* line) {
    return error_of([&] { (void)conversation_of_line(ordered_json::parse(line), config); });
  };
  EXPECT_THAT(
      refused("{}"),
      HasSubstr("no field \"messages\". Map it with data.fields: {\"messages\": \"NAME\"}"));
  EXPECT_THAT(refused("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refused(R"({"messages": []})"), HasSubstr("has no messages"));
  EXPECT_THAT(
      refused(R"({"messages": [{"role": "wizard", "content": ""}]})"),
      HasSubstr(
          "the role \"wizard\" is not known. Map it with data.roles: {\"wizard\": \"user\"}"));
  EXPECT_THAT(refused(R"({"messages": [{"role": 1}]})"),
              HasSubstr("the field \"role\" is no string (it is number)"));
  EXPECT_THAT(refused(R"({"messages": [{"role": "user"}], "tools": 3})"),
              HasSubstr("no array of tools"));
  config.format = "completion";
  EXPECT_THAT(error_of([&] {
                (void)prompted_text_of_line({{"prompt", "a"}}, config);
              }),
              HasSubstr("no field \"completion\""));
}

}  // namespace
}  // namespace triax::test

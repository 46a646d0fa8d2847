// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/chat/chat_files.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using nlohmann::ordered_json;

std::string turns_of(const std::string& name, const ordered_json& messages) {
  const ChatTemplates templates(
      chat_files("qwen2", {}, golden_text("templates/" + name + ".jinja")));
  Conversation conversation;
  conversation.messages = messages;
  const std::string text = templates.render(conversation, {}).text;
  std::string turns;
  for (const jinja::TextSpan& span : assistant_turns(templates, conversation, {}, text))
    turns += "[" + text.substr(span.begin, span.end - span.begin) + "]";
  return turns;
}

ordered_json message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

ordered_json list(std::vector<ordered_json> messages) {
  ordered_json all = ordered_json::array();
  for (ordered_json& one : messages) all.push_back(std::move(one));
  return all;
}

TEST(Turns, AreWholeWhereAConversationGrows) {
  EXPECT_EQ(turns_of("chatml", list({message("user", "a"), message("assistant", ""),
                                     message("assistant", "b")})),
            "[<|im_end|>\n][b<|im_end|>\n]");
  ordered_json call = message("assistant", "x");
  call["tool_calls"] = list({{{"name", "f"}, {"arguments", {{"y", 1}}}}});
  EXPECT_EQ(turns_of("qwen2.5", list({message("user", "a"), call, message("tool", "1"),
                                      message("assistant", "b")})),
            "[x\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"y\": "
            "1}}\n</tool_call><|im_end|>\n][b<|im_end|>\n]");
}

TEST(Turns, AreFoundByAnotherContent) {
  EXPECT_EQ(
      turns_of("qwen3", list({message("user", "a"), message("assistant", "<think>x</think>one"),
                              message("user", "b"), message("assistant", "two")})),
      "[one][<think>\n\n</think>\n\ntwo<|im_end|>\n]");
  // The same words before the turn.
  EXPECT_EQ(
      turns_of("qwen3", list({message("user", "one"), message("assistant", "<think>x</think>one"),
                              message("user", "one"), message("assistant", "one")})),
      "[one][<think>\n\n</think>\n\none<|im_end|>\n]");
}

TEST(Turns, ThatATemplateLeavesOutAreRefused) {
  const ChatTemplates templates(chat_files("qwen2", {},
                                           "{% for m in messages if m.role == 'user' %}{{ "
                                           "m.content }}{% endfor %}{{ messages|length }}"));
  Conversation conversation;
  conversation.messages =
      list({message("user", "a"), message("assistant", "b"), message("user", "c")});
  EXPECT_THAT(error_of([&] { (void)assistant_turns(templates, conversation, {}, "ac3"); }),
              testing::HasSubstr("the turn of message 2 cannot be found"));
}

}  // namespace
}  // namespace triax::test

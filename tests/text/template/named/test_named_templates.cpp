// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/named/named_templates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/text/template/chat_template.hpp"
#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

TokenizerFiles tokens_of(const ordered_json& special_tokens) {
  return {.place = "DIR",
          .tokenizer = {},
          .class_name = {},
          .bytes = {{"tokenizer_config.json", special_tokens.dump()}}};
}

Conversation turns_of(const ordered_json& messages, const ordered_json& tools, bool prompt) {
  return {.messages = messages,
          .tools = tools,
          .documents = nullptr,
          .variables = nullptr,
          .add_generation_prompt = prompt};
}

// Marks are around the assistant's texts, each with its end of turn.
void expect_answers(const jinja::Rendered& rendered, const ordered_json& messages) {
  std::size_t answers = 0;
  for (const ordered_json& message : messages) {
    if (message.at("role") != "assistant") continue;
    ASSERT_LT(answers, rendered.generated.size());
    const jinja::TextSpan& span = rendered.generated[answers++];
    const std::string text = rendered.text.substr(span.begin, span.end - span.begin);
    const auto content = message.at("content").get<std::string>();
    const auto trimmed = content.find_first_not_of(" \n");
    if (trimmed != content.npos) {
      const auto last = content.find_last_not_of(" \n");
      EXPECT_THAT(text, HasSubstr(content.substr(trimmed, last - trimmed + 1)));
    }
    EXPECT_TRUE(text.ends_with('>')) << "no end of turn: " << text;
  }
  EXPECT_EQ(answers, rendered.generated.size());
}

TEST(NamedTemplates, WriteTheTextsOfAxolotl) {
  std::ifstream file(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/templates/named.json");
  const ordered_json golden = ordered_json::parse(file);
  const TokenizerFiles files = tokens_of(golden.at("special_tokens"));
  ASSERT_EQ(golden.at("texts").size(), named_templates().size());
  for (const NamedTemplate& named : named_templates()) {
    const ChatTemplates templates(std::string(named.name), files);
    int equal = 0;
    for (std::size_t i = 0; i < golden.at("conversations").size(); ++i)
      for (const bool prompt : {false, true}) {
        const ordered_json& messages = golden.at("conversations")[i];
        const ordered_json& text =
            golden.at("texts").at(std::string(named.name))[i][prompt ? 1 : 0];
        if (text.is_null()) continue;  // theirs takes texts alone, or no system message
        SCOPED_TRACE(std::string(named.name) + " " + messages.dump());
        const jinja::Rendered rendered = templates.render(turns_of(messages, nullptr, prompt), {});
        EXPECT_EQ(rendered.text, text.get<std::string>());
        expect_answers(rendered, messages);
        ++equal;
      }
    EXPECT_GE(equal, 10) << named.name;
  }
}

TEST(NamedTemplates, AreFoundByName) {
  EXPECT_TRUE(std::ranges::is_sorted(named_template_names()));
  for (const std::string& name : named_template_names())
    EXPECT_EQ(named_template(name)->name, name);
  EXPECT_EQ(named_template("chatml2"), nullptr);
  EXPECT_EQ(named_template(""), nullptr);
}

TEST(NamedTemplates, RefuseWhatTheyLeaveOut) {
  const auto one = [](const ordered_json& value) { return ordered_json::array({value}); };
  const ordered_json user = one({{"role", "user"}, {"content", "a"}});
  const ordered_json tool = one({{"type", "function"}});
  for (const std::string& name : named_template_names()) {
    const ChatTemplates templates(name, tokens_of({{"eos_token", "</s>"}}));
    const auto render = [&](const ordered_json& messages, const ordered_json& tools) {
      (void)templates.render(turns_of(messages, tools, false), {});
    };
    EXPECT_NO_THROW(render(user, nullptr)) << name;
    EXPECT_THAT(test::error_of([&] { render(user, tool); }),
                HasSubstr("the template \"" + name + "\" has no tools"));
  }
  const ChatTemplates gemma("gemma", tokens_of({{"eos_token", "</s>"}}));
  const ordered_json system = one({{"role", "system"}, {"content", "a"}});
  EXPECT_THAT(test::error_of([&] { (void)gemma.render(turns_of(system, nullptr, false), {}); }),
              HasSubstr("there is no system message"));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/chat_template.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/templates/";

ordered_json json_of(const std::string& name) {
  std::ifstream file(golden + name);
  return ordered_json::parse(file);
}

Conversation conversation_of(const ordered_json& json, bool prompt) {
  return {.messages = json.at("messages"),
          .tools = json.value("tools", ordered_json()),
          .documents = json.value("documents", ordered_json()),
          .variables = json.value("variables", ordered_json()),
          .add_generation_prompt = prompt};
}

TokenizerFiles files_with(const std::map<std::string, std::string>& bytes) {
  return {.place = "DIR", .tokenizer = {}, .class_name = {}, .bytes = bytes};
}

// One answer of transformers: a text with spans, a refusal by the template, or another error.
void expect_equal(const ChatTemplates& templates, const Conversation& conversation,
                  const jinja::Clock& clock, const ordered_json& expected) {
  try {
    const jinja::Rendered rendered = templates.render(conversation, clock);
    ASSERT_TRUE(expected.contains("text")) << expected << "\nbut " << rendered.text;
    EXPECT_EQ(rendered.text, expected.at("text").get<std::string>());
    ordered_json spans = ordered_json::array();
    for (const jinja::TextSpan& span : rendered.generated) spans.push_back({span.begin, span.end});
    EXPECT_EQ(spans, expected.at("spans"));
  } catch (const jinja::TemplateRefusal& refusal) {
    EXPECT_EQ(expected.value("raised", "no refusal"), refusal.message);
  } catch (const UsageError& error) {
    EXPECT_TRUE(expected.contains("error")) << expected << "\nbut " << error.what();
  }
}

TEST(ChatTemplates, RenderAsTransformersDoes) {
  const ordered_json shared = json_of("conversations.json"), expected = json_of("texts.json");
  const jinja::Clock clock = jinja::parse_clock(shared.at("now"), "now");
  ASSERT_GE(expected.size(), 16U);
  for (const auto& [name, answers] : expected.items()) {
    const ChatTemplates templates(
        golden + name + ".jinja",
        files_with({{"tokenizer_config.json", shared.at("special_tokens").dump()}}));
    for (std::size_t i = 0; i < answers.size(); ++i)
      for (const bool prompt : {false, true}) {
        SCOPED_TRACE(name + " " + std::to_string(i));
        expect_equal(templates, conversation_of(shared.at("conversations").at(i), prompt), clock,
                     answers[i][prompt]);
      }
  }
}

std::string text_of(const ChatTemplates& templates, Conversation conversation,
                    const std::string& name = {}) {
  if (conversation.messages.is_null())
    conversation.messages = {{{"role", "user"}, {"content", "q"}}};
  return templates.render(conversation, {}, name).text;
}

TEST(ChatTemplates, AreFoundAsTransformersDoes) {
  const std::string config =
      R"({"chat_template": "C{{ eos_token }}", "eos_token": {"content": "</s>"}})";
  EXPECT_EQ(text_of(ChatTemplates(files_with({{"tokenizer_config.json", config}})), {}), "C</s>");
  const ChatTemplates file(
      files_with({{"tokenizer_config.json", config}, {"chat_template.jinja", "F"}}));
  EXPECT_EQ(text_of(file, {}), "F") << "the file wins";
  EXPECT_EQ(
      text_of(ChatTemplates(files_with({{"chat_template.json", R"({"chat_template": "J"})"}})), {}),
      "J");
  const ChatTemplates several(files_with({{"chat_template.jinja", "F"},
                                          {"additional_chat_templates/tool_use.jinja", "T"},
                                          {"additional_chat_templates/rag.jinja", "R"}}));
  EXPECT_THAT(several.names(), ElementsAre("default", "rag", "tool_use"));
  EXPECT_EQ(text_of(several, {}), "F");
  EXPECT_EQ(text_of(several, {}, "rag"), "R");
  Conversation tools;
  tools.tools = ordered_json::array({ordered_json::object()});
  EXPECT_EQ(text_of(several, tools), "T");
  const ChatTemplates listed(files_with(
      {{"tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "U"}]})"}}));
  EXPECT_EQ(text_of(listed, {}), "D");
  EXPECT_EQ(text_of(listed, tools), "U");
  EXPECT_NE(listed.fingerprint(), several.fingerprint());
}

// As AutoTokenizer of transformers 5.24 fills special_tokens_map.
TEST(ChatTemplates, HaveTheSpecialTokensOfTheFiles) {
  const std::string text =
      "{{ bos_token }}|{{ pad_token }}|{{ image_token }}|{{ boi }}|{{ a_token }}";
  const auto shown = [&](const std::string& config, const std::string& map) {
    return text_of(ChatTemplates(files_with({{"chat_template.jinja", text},
                                             {"tokenizer_config.json", config},
                                             {"special_tokens_map.json", map}})),
                   {});
  };
  const std::string config =
      R"("bos_token": "<s>", "image_token": {"content": "<i>"}, "a_token": true, )"
      R"("extra_special_tokens": {"boi": "<boi>"})";
  const std::string map = R"({"bos_token": "<m>", "pad_token": {"content": "<p>"}})";
  EXPECT_EQ(shown("{" + config + "}", "{}"), "<s>||<i>|<boi>|");
  EXPECT_EQ(shown("{" + config + "}", map), "<m>|<p>|<i>|<boi>|") << "files of older versions";
  EXPECT_EQ(shown("{" + config + R"(, "added_tokens_decoder": {}})", map), "<s>||<i>|<boi>|");
  EXPECT_EQ(shown(R"({"extra_special_tokens": ["<x>"]})", "{}"), "||||");
}

TEST(ChatTemplates, RefuseWithTheCause) {
  EXPECT_TRUE(ChatTemplates(files_with({})).empty());
  EXPECT_THAT(error_of([] { text_of(ChatTemplates(files_with({})), {}); }),
              HasSubstr("DIR has no chat template"));
  const ChatTemplates plain(files_with({{"chat_template.jinja", "{{ messages[0].n }}"}}));
  EXPECT_THAT(error_of([&] { text_of(plain, {}, "rag"); }),
              HasSubstr("no chat template \"rag\" (it has default)"));
  Conversation broken;
  broken.messages = ordered_json::array();
  EXPECT_THAT(error_of([&] { text_of(plain, broken); }),
              HasSubstr("the conversation has no messages"));
  broken.messages = {"text"};
  EXPECT_THAT(error_of([&] { text_of(plain, broken); }), HasSubstr("message 1 is no JSON object"));
  broken.messages = {{{"role", "user"}, {"n", 18446744073709551615ULL}}};
  EXPECT_THAT(error_of([&] { text_of(plain, broken); }), HasSubstr("does not fit in 64 bits"));
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  broken.messages = {{{"role", "user"}, {"n", ordered_json::parse(deep)}}};
  EXPECT_THAT(error_of([&] { text_of(plain, broken); }),
              HasSubstr("a value that templates cannot have (a value is nested deeper than 500"));
  EXPECT_THAT(error_of([] {
                ChatTemplates(files_with({{"tokenizer_config.json", R"({"chat_template": [1]})"}}));
              }),
              HasSubstr("neither a text nor a list"));
}

}  // namespace
}  // namespace triax

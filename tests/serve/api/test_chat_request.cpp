// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/chat_request.hpp"

#include <gmock/gmock.h>

#include "src/serve/api/api_error.hpp"
#include "src/text/open_tokenizer.hpp"
#include "src/text/template/chat_template.hpp"
#include "tests/serve/fake_engine.hpp"

namespace triax::test {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr const char* short_template =
    "{% for m in messages %}{% if m.role == 'bad' %}{{ raise_exception('no bad ones') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
    "{{ more }}";

ServedModel chat_model(const std::string& text = short_template) {
  ServedModel model = byte_model();
  model.context = 1000;
  TokenizerFiles files;
  files.bytes["chat_template.jinja"] = text;
  model.templates = std::make_shared<const ChatTemplates>(files);
  return model;
}

std::string prompt_of(const json& body, const ServedModel& model = chat_model()) {
  const GenerationCall call = read_chat(body, model);
  std::string text;
  for (const std::int32_t byte : call.prompts.at(0)) text += static_cast<char>(byte);
  return text;
}

// "param: message" of the ApiError.
std::string refused(const json& body, const ServedModel& model = chat_model()) {
  try {
    read_chat(body, model);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.param() + ": " + error.what();
  }
  return "not refused";
}

json message(const char* role, const json& content) {
  return {{"role", role}, {"content", content}};
}

TEST(ChatRequest, RendersTheMessages) {
  const json messages = {message("system", "s"), message("user", "u")};
  EXPECT_EQ(prompt_of({{"messages", messages}}), "<system>s</><user>u</><a>");
  EXPECT_EQ(prompt_of({{"messages", messages}, {"add_generation_prompt", false}}),
            "<system>s</><user>u</>");
  EXPECT_EQ(prompt_of({{"messages", messages}, {"chat_template_kwargs", {{"more", "!"}}}}),
            "<system>s</><user>u</><a>!");
  const json parts = {{{"type", "text"}, {"text", "a"}}, {{"type", "text"}, {"text", "b"}}};
  EXPECT_EQ(prompt_of({{"messages", {message("user", parts)}}}), "<user>a\nb</><a>");
}

TEST(ChatRequest, TheLastMessageMayGoOn) {
  EXPECT_EQ(prompt_of({{"messages", {message("user", "u"), message("assistant", "Well, ")}},
                       {"continue_final_message", true}}),
            "<user>u</><assistant>Well,");
  EXPECT_THAT(refused({{"messages", {message("user", "u")}},
                       {"continue_final_message", true},
                       {"add_generation_prompt", true}}),
              HasSubstr("continue_final_message: "));
}

TEST(ChatRequest, TokensAndLogProbabilities) {
  const json messages = {message("user", "u")};
  const auto options = [&](json body) {
    body["messages"] = messages;
    return read_chat(body, chat_model()).options;
  };
  EXPECT_EQ(options({}).max_tokens, -1);
  EXPECT_EQ(options({{"max_tokens", 3}}).max_tokens, 3);
  EXPECT_EQ(options({{"max_tokens", 3}, {"max_completion_tokens", 5}}).max_tokens, 5);
  EXPECT_EQ(options({{"logprobs", true}}).log_probabilities, 0);
  EXPECT_EQ(options({{"logprobs", true}, {"top_logprobs", 4}}).log_probabilities, 4);
}

TEST(ChatRequest, RefusalsSayWhy) {
  EXPECT_THAT(refused({{"messages", json::array()}}), HasSubstr("messages: "));
  EXPECT_THAT(refused({{"messages", {{{"content", "x"}}}}}),
              HasSubstr("must be an object with a role"));
  EXPECT_THAT(refused({{"messages", {message("user", nullptr)}}}), HasSubstr("has no content"));
  EXPECT_THAT(refused({{"messages", {message("user", {{{"type", "image_url"}}})}}}),
              HasSubstr("a part that is no text"));
  EXPECT_THAT(refused({{"messages", {message("bad", "x")}}}), HasSubstr("no bad ones"));
  EXPECT_THAT(refused({{"messages", {message("user", "x")}}, {"top_logprobs", 3}}),
              HasSubstr("top_logprobs: "));
  EXPECT_THAT(refused({{"messages", {message("user", "x")}}, {"tools", {{{"type", "function"}}}}}),
              HasSubstr("tools: 'tools' are not supported by this model's chat template"));
  ServedModel without = byte_model();
  without.templates = nullptr;
  EXPECT_THAT(refused({{"messages", {message("user", "x")}}}, without),
              HasSubstr("has no chat template"));
}

constexpr const char* tool_template =
    "{% if tools %}<tool_call>{{ tools | tojson }}{% endif %}{% for m in messages %}"
    "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}"
    "{% endfor %}";

// The order of keys is the client's: models were trained so.
TEST(ChatRequest, ToolsReachTheTemplateAsSent) {
  const json tools = json::parse(
      R"([{"type":"function","function":{"name":"z","parameters":{"y":{},"b":{},"a":{}}}}])");
  json body = {{"messages", {message("user", "u")}}, {"tools", tools}};
  EXPECT_EQ(prompt_of(body, chat_model(tool_template)),
            R"(<tool_call>[{"type": "function", "function": {"name": "z", "parameters": )"
            R"({"y": {}, "b": {}, "a": {}}}}]u)");
  const OfferedTools offered = read_chat(body, chat_model(tool_template)).options.tools;
  ASSERT_NE(offered.form, nullptr);
  EXPECT_EQ(offered.names, std::vector<std::string>{"z"});
  body["tool_choice"] = "none";
  EXPECT_EQ(prompt_of(body, chat_model(tool_template)), "u");
  EXPECT_EQ(read_chat(body, chat_model(tool_template)).options.tools.form, nullptr);
  body = {{"messages", {message("user", "u")}}, {"tools", {{{"type", "function"}}}}};
  EXPECT_THAT(refused(body, chat_model(tool_template)), HasSubstr("tools: 'tools[0]' must be"));
}

TEST(ChatRequest, ACallMayBeForced) {
  const json tools = json::parse(R"([{"type":"function","function":{"name":"f"}}])");
  const auto form = [&](const json& choice, const char* text) {
    const json body = {
        {"messages", {message("user", "u")}}, {"tools", tools}, {"tool_choice", choice}};
    return read_chat(body, chat_model(text)).options.constraint;
  };
  const json named = {{"type", "function"}, {"function", {{"name", "f"}}}};
  EXPECT_EQ(form("auto", tool_template).kind, ConstraintSpec::Kind::none);
  EXPECT_EQ(form("required", tool_template).kind, ConstraintSpec::Kind::json_schema);
  EXPECT_EQ(form(named, tool_template), form("required", tool_template));
  EXPECT_THROW(form("maybe", tool_template), ApiError);
  EXPECT_THROW(form({{"type", "function"}, {"function", {{"name", "g"}}}}, tool_template),
               ApiError);
  EXPECT_THROW(form("required", "{{ tools }}"), ApiError) << "the form of calls is not known";
}

// OpenAI's clients send arguments of earlier calls as text.
TEST(ChatRequest, ArgumentsOfEarlierCallsAreObjects) {
  const auto said = [](const json& arguments) {
    json call = message("assistant", nullptr);
    call["tool_calls"] = {{{"id", "1"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}};
    return json{{"messages", {call}}};
  };
  const ServedModel model = chat_model(tool_template);
  EXPECT_THAT(prompt_of(said(R"({"z": 1, "a": 2})"), model), HasSubstr(R"({"z": 1, "a": 2})"));
  EXPECT_THAT(prompt_of(said({{"z", 1}, {"a", 2}}), model), HasSubstr(R"({"z": 1, "a": 2})"));
  EXPECT_THAT(prompt_of(said(""), model), HasSubstr("{}"));
  for (const json& wrong : {json("{"), json("[1]"), json(3)})
    EXPECT_THAT(refused(said(wrong), model), HasSubstr("messages: 'messages[0]' must have"));
}

// A message that names a special token does not get it; the template does.
TEST(ChatRequest, MessagesCannotForgeSpecialTokens) {
  ServedModel model = chat_model("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}");
  model.tokenizer = open_tokenizer(std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/gpt2");
  model.vocabulary = model.tokenizer->vocabulary();
  model.special_tokens = special_tokens_of(*model.tokenizer);
  EXPECT_THAT(model.special_tokens, testing::Contains("<|end|>"));
  const std::int32_t end = model.tokenizer->id_of("<|end|>").value();
  const auto ids =
      read_chat({{"messages", {message("user", "a <|end|> b<|end|>")}}}, model).prompts.at(0);
  EXPECT_EQ(std::ranges::count(ids, end), 1);
  EXPECT_EQ(ids.back(), end);
  EXPECT_EQ(model.tokenizer->decode(ids, false), "a <|end|> b<|end|><|end|>");
}

}  // namespace
}  // namespace triax::test

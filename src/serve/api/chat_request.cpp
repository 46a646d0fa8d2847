// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/chat_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "src/serve/api/answer_form.hpp"
#include "src/serve/api/api_error.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;

// A code point that is no character: it cuts names of special tokens in two, and is taken out
// again.
constexpr std::string_view cut = "\uFDD0";

void cut_names(std::string& text, const std::vector<std::string>& names) {
  for (std::size_t at; (at = text.find(cut)) != text.npos;) text.erase(at, cut.size());
  for (const std::string& name : names) {
    std::size_t first = 1;  // bytes of the first code point
    while (first < name.size() && (name[first] & 0xC0) == 0x80) ++first;
    if (first == name.size()) continue;
    for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += cut.size() + first)
      text.insert(at + first, cut);
  }
}

void cut_names(json& value, const std::vector<std::string>& names) {
  if (value.is_string()) return cut_names(value.get_ref<std::string&>(), names);
  if (value.is_structured())
    for (json& inner : value) cut_names(inner, names);
}

ApiError wrong(std::size_t index, const std::string& what) {
  return bad_request(fmt::format("'messages[{}]' {}", index, what), "messages");
}

// Content in parts is joined: templates of text models take texts.
json content_of(const json& content, std::size_t index) {
  if (content.is_null() || content.is_string()) return content;
  if (!content.is_array()) throw wrong(index, "must have a text or a list of parts as content");
  std::string text;
  for (const json& part : content) {
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      throw wrong(index, "has a part that is no text, which this server does not take");
    text += (text.empty() ? "" : "\n") + part["text"].get<std::string>();
  }
  return text;
}

// Arguments of earlier calls are JSON text in OpenAI's form; templates take them as objects.
void read_arguments(json& message, std::size_t index) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null()) return;
  const auto refuse = [&] {
    throw wrong(index,
                "must have tool_calls as a list of {\"id\", \"type\", \"function\": {\"name\", "
                "\"arguments\"}} whose arguments are a JSON object as text");
  };
  if (!calls->is_array()) refuse();
  for (json& call : *calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) refuse();
    json& arguments = call["function"]["arguments"];
    if (arguments.is_string()) {
      const auto text = arguments.get<std::string>();
      arguments = text.empty() ? json::object() : json::parse(text, nullptr, false);
    }
    if (arguments.is_null()) arguments = json::object();
    if (!arguments.is_object()) refuse();
  }
}

json messages_of(const Fields& fields, const ServedModel& model) {
  const json* given = fields.find("messages");
  if (given == nullptr) throw bad_request("'messages' is missing", "messages");
  if (!given->is_array() || given->empty())
    throw bad_request("'messages' must be a list with at least one message", "messages");
  json messages = *given;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    json& message = messages[i];
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw wrong(i, "must be an object with a role");
    message["content"] = content_of(message.value("content", json()), i);
    if (message["content"].is_null() && !message.contains("tool_calls"))
      throw wrong(i, "has no content");
    read_arguments(message, i);
    for (auto& [key, value] : message.items())
      if (key != "role") cut_names(value, model.special_tokens);
  }
  return messages;
}

json tools_of(const Fields& fields, const ServedModel& model) {
  const json* tools = fields.find("tools");
  const json* choice = fields.find("tool_choice");
  if (tools == nullptr || tools->empty() || (choice != nullptr && *choice == "none"))
    return nullptr;
  if (!tools->is_array()) throw bad_request("'tools' must be a list", "tools");
  if (model.templates->choose("", true).text().find("tools") == std::string::npos)
    throw bad_request("'tools' are not supported by this model's chat template", "tools",
                      "unsupported_parameter");
  return *tools;
}

// Removes what the template puts behind the last message.
void continue_last(std::string& text, const json& messages) {
  std::string last = messages.back()["content"].is_string()
                         ? messages.back()["content"].get<std::string>()
                         : std::string();
  last.erase(last.find_last_not_of(" \t\r\n") + 1);
  last.erase(0, last.find_first_not_of(" \t\r\n"));
  const std::size_t at = text.rfind(last);
  if (last.empty() || at == text.npos)
    throw bad_request(
        "'continue_final_message' needs a last message with text, which the chat "
        "template keeps as it is",
        "continue_final_message");
  text.erase(at + last.size());
}

std::string rendered(const Fields& fields, const ServedModel& model) {
  if (!model.templates || model.templates->empty())
    throw bad_request(
        "this model has no chat template. Send a prompt to /v1/completions, or serve "
        "a model whose directory has one (chat_template.jinja)",
        "messages", "no_chat_template");
  fields.refuse({"chat_template", "documents"});
  Conversation conversation;
  conversation.messages = messages_of(fields, model);
  conversation.tools = tools_of(fields, model);
  if (const json* more = fields.find("chat_template_kwargs")) {
    if (!more->is_object())
      throw bad_request("'chat_template_kwargs' must be an object", "chat_template_kwargs");
    conversation.variables = *more;
  }
  const bool goes_on = fields.flag("continue_final_message", false);
  conversation.add_generation_prompt = fields.flag("add_generation_prompt", !goes_on);
  if (goes_on && conversation.add_generation_prompt)
    throw bad_request("'continue_final_message' and 'add_generation_prompt' exclude each other",
                      "continue_final_message");
  try {
    std::string text = model.templates->render(conversation, jinja::clock_now()).text;
    if (goes_on) continue_last(text, conversation.messages);
    return text;
  } catch (const jinja::TemplateRefusal& refusal) {
    throw bad_request("the chat template refuses the messages: " + refusal.message, "messages");
  } catch (const UsageError& error) {
    throw bad_request(error.what(), "messages");
  }
}

// "required", or {"type": "function", "function": {"name"}}: the answer is a call.
void force_call(const Fields& fields, const json& tools, GenerationOptions& options) {
  const json* choice = fields.find("tool_choice");
  if (choice == nullptr || *choice == "auto") return;
  const auto name = json::json_pointer("/function/name");
  const bool named = choice->is_object() && choice->contains(name) && choice->at(name).is_string();
  if (*choice != "required" && !named)
    throw bad_request(
        "'tool_choice' must be \"auto\", \"none\", \"required\" or {\"type\": \"function\", "
        "\"function\": {\"name\"}}",
        "tool_choice");
  if (options.tools.form == nullptr)
    throw bad_request(
        "'tool_choice' must be \"auto\" or \"none\": this model's chat template does not show how "
        "calls are written",
        "tool_choice", "unsupported_parameter");
  if (options.constraint.kind != ConstraintSpec::Kind::none)
    throw bad_request("'tool_choice' and a form of the answer exclude each other", "tool_choice");
  options.constraint = form_of_call(tools, *options.tools.form,
                                    named ? choice->at(name).get<std::string>() : std::string());
}

// Calls are read from the answer where the template says how the model writes them. Marks that are
// special tokens must be seen.
void offer_tools(const Fields& fields, const ServedModel& model, GenerationOptions& options) {
  const json tools = tools_of(fields, model);
  if (tools.is_null()) return;
  options.tools.form = tool_form_of(model.templates->choose("", true).text());
  options.tools.names = tool_names(tools);
  options.tools.parallel = fields.flag("parallel_tool_calls", true);
  force_call(fields, tools, options);
  if (options.tools.form == nullptr) return;
  for (const char* mark : options.tools.form->begins)
    if (std::ranges::find(model.special_tokens, mark) != model.special_tokens.end())
      options.skip_special_tokens = false;
}

}  // namespace

std::vector<std::string> special_tokens_of(const Tokenizer& tokenizer) {
  std::vector<std::string> names;
  for (std::int32_t id = 0; id < tokenizer.vocabulary(); ++id) {
    const std::string name = tokenizer.token(id);
    if (!name.empty() && tokenizer.decode(std::span(&id, 1), true).empty() &&
        !tokenizer.decode(std::span(&id, 1), false).empty())
      names.push_back(name);
  }
  return names;
}

std::vector<std::int32_t> chat_prompt(const Fields& fields, const ServedModel& model) {
  const std::string text = rendered(fields, model);
  std::vector<std::int32_t> ids;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(cut, at), text.size());
    for (const std::int32_t id : encode(model, text.substr(at, end - at),
                                        at == 0 && fields.flag("add_special_tokens", false)))
      ids.push_back(id);
    at = end + cut.size();
  }
  return ids;
}

GenerationCall read_chat(const json& body, const ServedModel& model) {
  const Fields fields(body);
  check_model_name(fields, model);
  fields.refuse({"functions", "function_call", "audio", "web_search_options", "prediction"});
  GenerationCall call;
  call.options = read_options(fields, model, {"max_completion_tokens", "max_tokens"}, -1);
  if (call.options.max_tokens == 0)
    throw bad_request("the most tokens of the answer must be at least 1", "max_completion_tokens");
  const bool wanted = fields.flag("logprobs", false);
  const auto top = fields.integer_if_any("top_logprobs", 0, most_alternatives);
  if (top && !wanted) throw bad_request("'top_logprobs' needs \"logprobs\": true", "top_logprobs");
  if (wanted) call.options.log_probabilities = static_cast<int>(top.value_or(0));
  call.prompts = {chat_prompt(fields, model)};
  offer_tools(fields, model, call.options);
  fit_prompts(fields, model, call);
  return call;
}

}  // namespace triax

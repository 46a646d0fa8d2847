// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/chat_template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "io/files/mapped_file.hpp"
#include "io/files/sha256.hpp"
#include "src/text/template/named/named_templates.hpp"

namespace triax {
namespace {

using jinja::Dict;
using jinja::Value;
using nlohmann::ordered_json;

constexpr std::string_view more_templates = "additional_chat_templates/";
// Objects of tokenizer_config.json whose entries are variables as the keys *_token are.
constexpr std::array named_tokens = {"extra_special_tokens", "model_specific_special_tokens"};
// Fields of a message that hold its thoughts: the first one that is there fills reasoning_content.
constexpr std::array thought_fields = {"reasoning_content", "thinking", "reasoning"};

ordered_json json_of(const TokenizerFiles& files, const char* name) {
  const std::string* const text = files.find(name);
  if (text == nullptr) return nullptr;
  ordered_json json = ordered_json::parse(*text, nullptr, false);
  if (!json.is_object())
    throw UsageError(files.path(name) + " is no JSON object", {}, "Fetch the file again");
  return json;
}

// The text of a special token: a string, or an object that has it as content.
const std::string* token_text(const ordered_json& token) {
  const bool inside = token.is_object() && token.contains("content");
  return (inside ? token.at("content") : token).get_ptr<const std::string*>();
}

// A message without keys that are null, and with its thoughts under the names that templates read.
Value message_of(const ordered_json& message, std::size_t number) {
  if (!message.is_object())
    throw UsageError(fmt::format("message {} is no JSON object", number), {},
                     "Give messages as {\"role\": ..., \"content\": ...}");
  Dict dict;
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) dict.set(key, jinja::from_json(value));
  for (const char* field : thought_fields)
    if (const Value* const found = dict.find(field); found != nullptr) {
      const Value thoughts = *found;
      if (dict.find("thinking") == nullptr) {
        Dict before;
        before.set("thinking", thoughts);
        for (const auto& [key, value] : dict.entries()) before.set(key, value);
        dict = std::move(before);
      }
      dict.set("reasoning_content", thoughts);
      break;
    }
  return Value::of(std::move(dict));
}

Value messages_of(const ordered_json& messages) {
  if (!messages.is_array() || messages.empty())
    throw UsageError("the conversation has no messages", {},
                     "Give an array of messages, each with a role and a content");
  jinja::List list;
  for (const ordered_json& message : messages) list.push_back(message_of(message, list.size() + 1));
  return Value::list(std::move(list));
}

}  // namespace

std::string chat_template_text(const std::string& name_or_file) {
  if (const NamedTemplate* const named = named_template(name_or_file))
    return std::string(named->text);
  const MappedFile file(name_or_file);
  std::string text(reinterpret_cast<const char*>(file.data()),
                   static_cast<std::size_t>(file.size()));
  file.check_length();
  return text;
}

ChatTemplates::ChatTemplates(const TokenizerFiles& files) : place_(files.place) {
  read_special_tokens(files);
  if (!add_files(files)) {
    add_of_json(files, "tokenizer_config.json");
    if (templates_.empty()) add_of_json(files, "chat_template.json");
  }
  finish();
}

ChatTemplates::ChatTemplates(const std::string& name_or_file, const TokenizerFiles& files)
    : place_(name_or_file) {
  read_special_tokens(files);
  add("default", name_or_file, chat_template_text(name_or_file));
  finish();
}

// Variables as transformers reads them: special_tokens_map.json overrides tokenizer_config.json,
// but counts only if that has no added_tokens_decoder.
void ChatTemplates::read_special_tokens(const TokenizerFiles& files) {
  const auto read = [&](const ordered_json& from, bool all) {
    for (const auto& [key, token] : from.items())
      if (const std::string* const text = token_text(token);
          text != nullptr && (all || key.ends_with("_token")))
        special_tokens_[key] = *text;
  };
  const ordered_json config = json_of(files, "tokenizer_config.json");
  read(config, false);
  for (const char* names : named_tokens)
    if (config.is_object() && config.contains(names) && config.at(names).is_object())
      read(config.at(names), true);
  if (!config.is_object() || !config.contains("added_tokens_decoder"))
    read(json_of(files, "special_tokens_map.json"), false);
}

void ChatTemplates::add(const std::string& name, const std::string& file, std::string_view text) {
  templates_[name] = std::make_shared<const jinja::JinjaTemplate>(file, text);
}

bool ChatTemplates::add_files(const TokenizerFiles& files) {
  if (const std::string* const text = files.find(chat_template_file); text != nullptr)
    add("default", files.path(chat_template_file), *text);
  for (const auto& [name, text] : files.bytes)
    if (name.starts_with(more_templates) && name.ends_with(".jinja"))
      add(name.substr(more_templates.size(), name.size() - more_templates.size() - 6),
          files.path(name), text);
  return !templates_.empty();
}

// One template, or a list of {"name": ..., "template": ...}.
void ChatTemplates::add_of_json(const TokenizerFiles& files, const char* file) {
  const ordered_json config = json_of(files, file);
  if (!config.is_object() || !config.contains("chat_template")) return;
  const ordered_json& found = config.at("chat_template");
  const std::string place = files.path(file) + ": chat_template";
  if (found.is_string()) return add("default", place, found.get<std::string>());
  if (found.is_null()) return;
  for (const ordered_json& one : found) {
    if (!one.is_object() || !one.contains("name") || !one.contains("template") ||
        !one.at("name").is_string() || !one.at("template").is_string())
      throw UsageError(place + " is neither a text nor a list of named templates", {},
                       "Fetch the file again");
    const std::string name = one.at("name").get<std::string>();
    add(name, fmt::format("{} \"{}\"", place, name), one.at("template").get<std::string>());
  }
}

void ChatTemplates::finish() {
  std::string all;
  for (const auto& [name, one] : templates_)
    all += fmt::format("{}\n{}\n{}\n", name, one->text().size(), one->text());
  for (const auto& [name, token] : special_tokens_) all += fmt::format("{}={}\n", name, token);
  fingerprint_ = sha256_of(all);
}

std::vector<std::string> ChatTemplates::names() const {
  std::vector<std::string> names;
  for (const auto& [name, ignored] : templates_) names.push_back(name);
  return names;
}

bool ChatTemplates::asks_for_date() const {
  return std::ranges::any_of(templates_, [](const auto& named) {
    return named.second->text().find("strftime_now") != std::string::npos;
  });
}

const jinja::JinjaTemplate& ChatTemplates::choose(const std::string& name, bool tools) const {
  if (templates_.empty())
    throw UsageError(
        fmt::format("{} has no chat template", place_),
        "there is no chat_template.jinja, and tokenizer_config.json has no chat_template",
        "Name a file with a template (--template FILE, data.template), or use a model made for "
        "chats");
  const auto find = [&](const std::string& wanted) { return templates_.find(wanted); };
  auto found = find(name.empty() && tools ? "tool_use" : name);
  if (found == templates_.end() && name.empty()) found = find("default");
  if (found == templates_.end())
    throw UsageError(
        fmt::format("{} has no chat template \"{}\"", place_, name.empty() ? "default" : name),
        fmt::format("it has {}", fmt::join(names(), ", ")), "Choose one of these");
  return *found->second;
}

jinja::Rendered ChatTemplates::render(const Conversation& conversation, const jinja::Clock& clock,
                                      const std::string& name) const {
  const bool tools = !conversation.tools.is_null();
  const jinja::JinjaTemplate& chosen = choose(name, tools);
  Dict variables;
  try {
    variables.set("messages", messages_of(conversation.messages));
    variables.set("tools", jinja::from_json(conversation.tools));
    variables.set("documents", jinja::from_json(conversation.documents));
    variables.set("add_generation_prompt", Value::of(conversation.add_generation_prompt));
    for (const auto& [key, token] : special_tokens_) variables.set(key, Value::of(token));
    if (conversation.variables.is_object())
      for (const auto& [key, value] : conversation.variables.items())
        variables.set(key, jinja::from_json(value));
  } catch (const jinja::Fault& fault) {
    throw UsageError("the conversation has a value that templates cannot have", fault.what(),
                     "Give large numbers as strings, and flat values");
  }
  return chosen.render(variables, clock);
}

}  // namespace triax

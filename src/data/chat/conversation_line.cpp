// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/conversation_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr std::array known_roles = {"system",   "developer", "user",        "assistant",   "tool",
                                    "function", "ipython",   "environment", "tool_results"};

std::string text_of(const ordered_json& object, const ConversationConfig& config,
                    const std::string& field) {
  const ordered_json& value = field_of_line(object, field, config);
  if (!value.is_string())
    throw UsageError(fmt::format("the field \"{}\" is no string", field_name(field, config)),
                     fmt::format("it is {}", value.type_name()), "Repair the line");
  return value.get<std::string>();
}

std::string role_of(const std::string& role, const ConversationConfig& config) {
  if (const auto mapped = config.roles.find(role); mapped != config.roles.end())
    return mapped->second;
  if (role == "human") return "user";
  if (role == "gpt") return "assistant";
  if (std::ranges::find(known_roles, std::string_view(role)) != known_roles.end()) return role;
  throw UsageError(fmt::format("the role \"{}\" is not known", role), {},
                   fmt::format("Map it with data.roles: {{\"{}\": \"user\"}}", role));
}

// The message with the names that templates read; its other fields as they are.
ordered_json message_of(const ordered_json& message, const ConversationConfig& config) {
  const std::string role = field_name("role", config), content = field_name("content", config);
  ordered_json result = ordered_json::object();
  result["role"] = role_of(text_of(message, config, "role"), config);
  for (const auto& [key, value] : message.items())
    if (key != role) result[key == content ? "content" : key] = value;
  return result;
}

// An array, or its JSON text, as some files have it.
ordered_json tools_of(const ordered_json& line, const ConversationConfig& config) {
  const std::string name = field_name("tools", config);
  if (!line.contains(name)) return nullptr;
  ordered_json tools = line.at(name);
  if (tools.is_string()) tools = ordered_json::parse(tools.get<std::string>(), nullptr, false);
  if (tools.is_array() && tools.empty()) return nullptr;
  if (!tools.is_array() && !tools.is_null())
    throw UsageError(fmt::format("the field \"{}\" is no array of tools", name), {},
                     "Repair the line");
  return tools;
}

std::string optional_text(const ordered_json& line, const ConversationConfig& config,
                          const std::string& field) {
  const std::string name = field_name(field, config);
  const bool none = !line.is_object() || !line.contains(name) || line.at(name).is_null();
  return none ? std::string() : text_of(line, config, field);
}

// The words of Stanford Alpaca.
std::string alpaca_prompt(const std::string& instruction, const std::string& input) {
  if (input.empty())
    return fmt::format(
        "Below is an instruction that describes a task. Write a response that appropriately "
        "completes the "
        "request.\n\n### Instruction:\n{}\n\n### Response:\n",
        instruction);
  return fmt::format(
      "Below is an instruction that describes a task, paired with an input that provides further "
      "context. "
      "Write a response that appropriately completes the request.\n\n### Instruction:\n{}\n\n### "
      "Input:\n{}\n\n"
      "### Response:\n",
      instruction, input);
}

}  // namespace

std::string field_name(const std::string& field, const ConversationConfig& config) {
  const auto mapped = config.fields.find(field);
  return mapped == config.fields.end() ? field : mapped->second;
}

const ordered_json& field_of_line(const ordered_json& line, const std::string& field,
                                  const ConversationConfig& config) {
  const std::string name = field_name(field, config);
  if (!line.is_object())
    throw UsageError("the line is no JSON object", {}, "Write each sample as {...} on one line");
  if (!line.contains(name))
    throw UsageError(fmt::format("the line has no field \"{}\"", name), {},
                     fmt::format("Map it with data.fields: {{\"{}\": \"NAME\"}}", field));
  return line.at(name);
}

ordered_json messages_of(const ordered_json& value, const std::string& field,
                         const ConversationConfig& config) {
  if (!value.is_array() || value.empty())
    throw UsageError(
        fmt::format("the field \"{}\" has no messages{}", field_name(field, config),
                    value.is_array() ? "" : fmt::format(": it is of type {}", value.type_name())),
        {}, "Give an array of messages, each with a role and a content");
  ordered_json messages = ordered_json::array();
  for (const ordered_json& message : value) messages.push_back(message_of(message, config));
  return messages;
}

Conversation conversation_of_line(const ordered_json& line, const ConversationConfig& config) {
  return conversation_of(messages_of(field_of_line(line, "messages", config), "messages", config),
                         line, config);
}

Conversation conversation_of(ordered_json messages, const ordered_json& line,
                             const ConversationConfig& config) {
  Conversation conversation;
  conversation.messages = std::move(messages);
  conversation.tools = tools_of(line, config);
  conversation.variables = line.value("chat_template_kwargs", ordered_json());
  return conversation;
}

PromptedText prompted_text_of_line(const ordered_json& line, const ConversationConfig& config) {
  if (config.format == "completion") {
    const bool whole = field_name("prompt", config).empty();  // texts without a prompt
    return {whole ? std::string() : text_of(line, config, "prompt"),
            text_of(line, config, "completion")};
  }
  return {alpaca_prompt(text_of(line, config, "instruction"), optional_text(line, config, "input")),
          text_of(line, config, "output")};
}

}  // namespace triax

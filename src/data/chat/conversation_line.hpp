// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of a JSON-lines file as a conversation, or as a prompt with its answer.
#include <nlohmann/json.hpp>
#include <string>

#include "src/config/conversation.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {

/// A prompt and its answer as texts: formats "instruction" and "completion".
struct PromptedText {
  std::string prompt, answer;
};

/// Name that the files have for a field.
std::string field_name(const std::string& field, const ConversationConfig& config);
/// That field of a line. UsageError where there is none.
const nlohmann::ordered_json& field_of_line(const nlohmann::ordered_json& line,
                                            const std::string& field,
                                            const ConversationConfig& config);
/// The messages of the value of `field`, with the names and roles that templates read. UsageError
/// for a value that is no list of them.
nlohmann::ordered_json messages_of(const nlohmann::ordered_json& value, const std::string& field,
                                   const ConversationConfig& config);
/// Such messages with the tools and variables of their line.
Conversation conversation_of(nlohmann::ordered_json messages, const nlohmann::ordered_json& line,
                             const ConversationConfig& config);

/// Format "chat": {"messages": [...], "tools": [...], "chat_template_kwargs": {variables}}; names
/// of fields and roles by `config`. human and gpt are user and assistant. UsageError for what is
/// missing, of another type, or a role that is not known.
Conversation conversation_of_line(const nlohmann::ordered_json& line,
                                  const ConversationConfig& config);

/// Format "completion": {"prompt", "completion"}, without a prompt where its name is empty;
/// "instruction": {"instruction", "input", "output"} in Alpaca's words. UsageError as above.
PromptedText prompted_text_of_line(const nlohmann::ordered_json& line,
                                   const ConversationConfig& config);

}  // namespace triax

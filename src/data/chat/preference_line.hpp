// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of a JSON-lines file as a prompt with a chosen and a rejected answer: TRL's forms of
// preference data.
#include <cstddef>
#include <nlohmann/json.hpp>

#include "src/config/conversation.hpp"
#include "src/data/chat/conversation_line.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {

/// Both answers as messages behind those of the prompt, or as texts.
struct PreferencePair {
  bool messages = false;
  Conversation chosen = {}, rejected = {};
  std::size_t prompt = 0;  // messages of both that are the prompt
  PromptedText chosen_text = {}, rejected_text = {};
};

/// {"prompt", "chosen", "rejected"}, each a text, or messages, or a single message: a text beside
/// messages is that of the user or the assistant. Without a prompt it is what both answers begin
/// with, whole messages of them or text; answers that begin with another role than the assistant
/// have their prompt too. Names by `config`. UsageError for what is missing or of another type, and
/// for answers that do not differ where they alone show the prompt.
PreferencePair preference_of_line(const nlohmann::ordered_json& line,
                                  const ConversationConfig& config);

}  // namespace triax

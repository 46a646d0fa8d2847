// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/end_of_turn.hpp"

#include <span>
#include <string>
#include <vector>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Text that the template puts behind an answer; empty where it renders none.
std::string behind_an_answer(const ChatTemplates& templates) {
  const std::string answer = "The answer is yes.";
  Conversation conversation;
  conversation.messages = {{{"role", "user"}, {"content", "Is it?"}},
                           {{"role", "assistant"}, {"content", answer}}};
  try {
    const std::string text = templates.render(conversation, {}).text;
    const std::size_t at = text.rfind(answer);
    return at == std::string::npos ? std::string() : text.substr(at + answer.size());
  } catch (const Error&) {
    return {};  // it asks for more than a question and an answer
  }
}

}  // namespace

bool is_special(const Tokenizer& tokenizer, std::int32_t id) {
  const std::span<const std::int32_t> one(&id, 1);
  return tokenizer.decode(one, true).empty() && !tokenizer.decode(one, false).empty();
}

std::optional<std::int32_t> end_of_turn(const ChatTemplates& templates,
                                        const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  tokenizer.encoder()->encode(behind_an_answer(templates), {.special_tokens_in_text = true}, ids);
  for (const std::int32_t id : ids)
    if (is_special(tokenizer, id)) return id;
  return {};
}

}  // namespace triax

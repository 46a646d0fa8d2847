// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using jinja::TextSpan;
using nlohmann::ordered_json;

// Content that no text has: characters of private use.
constexpr const char* other_content = "\uE000turn\uE001";

class TurnFinder {
 public:
  TurnFinder(const ChatTemplates& templates, const Conversation& conversation,
             const jinja::Clock& clock, const std::string& text)
      : templates_(templates), conversation_(conversation), clock_(clock), text_(text) {}

  std::vector<TextSpan> find() {
    const ordered_json& messages = conversation_.messages;
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages[i].value("role", "") == "assistant") add(i);
    return std::move(turns_);
  }

 private:
  // The text of a conversation; nothing where the template refuses it.
  std::optional<std::string> rendered(const Conversation& conversation) const {
    try {
      return templates_.render(conversation, clock_).text;
    } catch (const UsageError&) {
      return {};
    }
  }

  // Length of the text of the first `count` messages, if the whole text begins with it.
  std::optional<std::size_t> length_of(std::size_t count, bool prompt) const {
    Conversation first = conversation_;
    first.messages =
        ordered_json(conversation_.messages.begin(),
                     conversation_.messages.begin() + static_cast<std::ptrdiff_t>(count));
    first.add_generation_prompt = prompt;
    if (count == 0) return {};
    const auto text = rendered(first);
    return text && text_.starts_with(*text) ? std::optional(text->size()) : std::nullopt;
  }

  // The bytes that another content of message `i` changes.
  std::optional<TextSpan> content_of(std::size_t i) const {
    Conversation other = conversation_;
    ordered_json& message = other.messages[i];
    const bool plain = message.contains("content") && message.at("content").is_string();
    if (!plain || message.contains("tool_calls")) return {};
    message["content"] = other_content;
    const auto text = rendered(other);
    if (!text || text->find(other_content) == std::string::npos) return {};
    const auto first = std::ranges::mismatch(text_, *text);
    const auto begin = static_cast<std::size_t>(first.in1 - text_.begin());
    std::size_t same = 0;
    while (same < text_.size() - begin && same < text->size() - begin &&
           text_[text_.size() - 1 - same] == (*text)[text->size() - 1 - same])
      ++same;
    return TextSpan{begin, text_.size() - same};
  }

  // The conversation with the words that ask for one more answer.
  const std::string& asked() {
    if (asked_) return *asked_;
    Conversation asking = conversation_;
    asking.add_generation_prompt = true;
    asked_ = rendered(asking).value_or(text_);
    return *asked_;
  }

  // The words that ask for an answer: "<|im_start|>assistant\n".
  std::string prompt() { return asked().starts_with(text_) ? asked().substr(text_.size()) : ""; }

  // Length of the text without words that a template writes behind the last turn alone. Special
  // tokens that begin alike, such as </s> and <|user|>, are not in it.
  std::size_t length_of_turns() {
    const auto same =
        static_cast<std::size_t>(std::ranges::mismatch(text_, asked()).in1 - text_.begin());
    if (same == text_.size()) return same;
    const std::size_t bracket = text_.substr(0, same).find_last_of("<>[]");
    const bool inside =
        bracket != std::string::npos && (text_[bracket] == '<' || text_[bracket] == '[');
    return inside ? bracket : same;
  }

  // Start of the turn whose content begins at `content`.
  std::size_t begin_before(std::size_t content) {
    const std::string asks = prompt();
    if (asks.empty() || content < asks.size()) return content;
    const std::size_t at = text_.rfind(asks, content - asks.size());
    const std::size_t done = turns_.empty() ? 0 : turns_.back().end;
    return at == std::string::npos || at < done ? content : at + asks.size();
  }

  void add(std::size_t i) {
    std::optional<std::size_t> begin = length_of(i, true), end = length_of(i + 1, false);
    if (!begin || !end || *begin > *end) {
      const auto content = content_of(i);
      if (!content) throw not_found(i);
      if (!begin || *begin > content->begin) begin = begin_before(content->begin);
      if (!end || *end < *begin) end = std::max(content->end, *begin);
    }
    if (!turns_.empty() && *begin < turns_.back().end) throw not_found(i);
    if (i + 1 == conversation_.messages.size() && length_of_turns() >= *begin)
      end = std::min(*end, length_of_turns());
    turns_.push_back({*begin, *end});
  }

  static UsageError not_found(std::size_t i) {
    return UsageError(
        fmt::format("the turn of message {} cannot be found in the rendered text", i + 1),
        "the template writes it in another way when the conversation goes on",
        "Set data.template to a template that marks it with {% generation %}, or "
        "data.train_on to all");
  }

  const ChatTemplates& templates_;
  const Conversation& conversation_;
  const jinja::Clock& clock_;
  const std::string& text_;
  std::optional<std::string> asked_;
  std::vector<TextSpan> turns_;
};

}  // namespace

std::vector<TextSpan> assistant_turns(const ChatTemplates& templates,
                                      const Conversation& conversation, const jinja::Clock& clock,
                                      const std::string& text) {
  return TurnFinder(templates, conversation, clock, text).find();
}

}  // namespace triax

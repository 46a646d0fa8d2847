// SPDX-License-Identifier: Apache-2.0
#include "src/data/chat/preference_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

UsageError same_answers() {
  return UsageError("chosen and rejected are the same",
                    "without a prompt, what both begin with is the prompt",
                    "Remove the line, or give it a prompt");
}

// Length of what both texts begin with, in whole characters. A blank before the answers is theirs,
// as in TRL.
std::size_t shared_length(const std::string& a, const std::string& b) {
  auto length = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto inside = [](const std::string& text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (length > 0 && (inside(a, length) || inside(b, length))) --length;
  return length > 0 && a[length - 1] == ' ' ? length - 1 : length;
}

PreferencePair pair_of_texts(const std::string& prompt, const std::string& chosen,
                             const std::string& rejected) {
  PreferencePair pair;
  pair.chosen_text = {prompt, chosen};
  pair.rejected_text = {prompt, rejected};
  return pair;
}

PreferencePair pair_without_prompt(const std::string& chosen, const std::string& rejected) {
  if (chosen == rejected) throw same_answers();
  const std::size_t shared = shared_length(chosen, rejected);
  return pair_of_texts(chosen.substr(0, shared), chosen.substr(shared), rejected.substr(shared));
}

// Messages of a field: a list of them, one, or the text of one whose role is `role`.
ordered_json messages_of_value(const ordered_json& value, const char* role, const char* field,
                               const ConversationConfig& config) {
  if (value.is_string())
    return ordered_json::array({{{"role", role}, {"content", value.get<std::string>()}}});
  if (value.is_object()) return messages_of(ordered_json::array({value}), field, config);
  return messages_of(value, field, config);
}

// Number of messages that both conversations begin with.
std::size_t shared_messages(const ordered_json& a, const ordered_json& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool begins_with_answer(const ordered_json& messages) {
  return messages.front().value("role", "") == "assistant";
}

bool begins_with(const ordered_json& messages, const ordered_json& prompt) {
  return shared_messages(messages, prompt) == prompt.size();
}

PreferencePair pair_of_messages(const ordered_json& line, const ordered_json& prompt,
                                const ordered_json& chosen, const ordered_json& rejected,
                                const ConversationConfig& config) {
  PreferencePair pair;
  pair.messages = true;
  ordered_json before = ordered_json::array();
  ordered_json good = messages_of_value(chosen, "assistant", "chosen", config);
  ordered_json bad = messages_of_value(rejected, "assistant", "rejected", config);
  if (begins_with_answer(good) != begins_with_answer(bad))
    throw UsageError("one of chosen and rejected begins with the prompt, the other does not", {},
                     "Repair the line");
  if (prompt.is_array()) before = messages_of(prompt, "prompt", config);
  const bool whole =
      !begins_with_answer(good) && begins_with(good, before) && begins_with(bad, before);
  if (whole) {
    if (good == bad) throw same_answers();
    before.clear();
  } else {
    if (prompt.is_null())
      throw UsageError(fmt::format("the line has no field \"{}\"", field_name("prompt", config)),
                       "chosen and rejected begin with an answer",
                       "Map it with data.fields: {\"prompt\": \"NAME\"}");
    before = messages_of_value(prompt, "user", "prompt", config);
  }
  pair.prompt = whole ? shared_messages(good, bad) : before.size();
  const auto conversation = [&](const ordered_json& answer) {
    ordered_json all = before;
    for (const ordered_json& message : answer) all.push_back(message);
    return conversation_of(std::move(all), line, config);
  };
  pair.chosen = conversation(good);
  pair.rejected = conversation(bad);
  return pair;
}

}  // namespace

PreferencePair preference_of_line(const ordered_json& line, const ConversationConfig& config) {
  const ordered_json& chosen = field_of_line(line, "chosen", config);
  const ordered_json& rejected = field_of_line(line, "rejected", config);
  const std::string name = field_name("prompt", config);
  const ordered_json prompt = line.contains(name) ? line.at(name) : ordered_json();
  const bool texts = chosen.is_string() && rejected.is_string();
  if (texts && prompt.is_null())
    return pair_without_prompt(chosen.get<std::string>(), rejected.get<std::string>());
  if (texts && prompt.is_string())
    return pair_of_texts(prompt.get<std::string>(), chosen.get<std::string>(),
                         rejected.get<std::string>());
  return pair_of_messages(line, prompt, chosen, rejected, config);
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokenizers of tests/golden with a few special tokens more, and chat templates.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/data/chat/sample_encoder.hpp"

namespace triax::test {

inline const std::string golden_folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/";

inline std::string golden_text(const std::string& name) {
  std::ifstream file(golden_folder + name);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline nlohmann::ordered_json golden_json(const std::string& name) {
  return nlohmann::ordered_json::parse(golden_text(name));
}

/// Files of a golden tokenizer with these special tokens more, as add_special_tokens() of Hugging
/// Face adds them, and a chat template.
inline TokenizerFiles chat_files(const std::string& tokenizer,
                                 const std::vector<std::string>& special,
                                 const std::string& chat_template) {
  const std::string path = "tokenizers/" + tokenizer + "/tokenizer.json";
  nlohmann::ordered_json json = golden_json(path);
  const auto plain = open_tokenizer(golden_folder + path);
  std::int32_t next = plain->vocabulary();
  auto& added = json["added_tokens"];
  for (const std::string& token : special) {
    const auto same = [&](const auto& one) { return one.at("content") == token; };
    if (std::ranges::any_of(added, same)) continue;
    const auto known = plain->id_of(token);
    added.push_back({{"id", known ? *known : next++},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const nlohmann::ordered_json config =
      golden_json("templates/conversations.json").at("special_tokens");
  TokenizerFiles files{.place = "DIR", .tokenizer = "tokenizer.json"};
  files.bytes = {{"tokenizer.json", json.dump()}, {"tokenizer_config.json", config.dump()}};
  if (!chat_template.empty()) files.bytes["chat_template.jinja"] = chat_template;
  return files;
}

inline ConversationConfig chat_config() {
  ConversationConfig config;
  config.format = "chat";
  config.template_date = "2026-01-31T12:34:56";
  return config;
}

/// The text of the tokens of a sample that train, with | between separate runs.
inline std::string trained_text(const ChatContext& context, const ChatSample& sample) {
  std::string text;
  std::vector<std::int32_t> run;
  for (std::size_t i = 0; i <= sample.ids.size(); ++i) {
    if (i < sample.ids.size() && sample.labels[i] >= 0) {
      run.push_back(sample.ids[i]);
    } else if (!run.empty()) {
      text += (text.empty() ? "" : "|") + context.tokenizer.tokenizer->decode(run, false);
      run.clear();
    }
  }
  return text;
}

}  // namespace triax::test

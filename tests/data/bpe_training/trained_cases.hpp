// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cases of tests/golden/trained, which Hugging Face tokenizers trained.
#include <nlohmann/json.hpp>

#include "src/data/bpe_training/options.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {

inline const std::vector<std::string> trained_cases = {"gpt2", "llama3", "qwen2",  "ties",
                                                       "runs", "short",  "special"};

struct TrainedCase {
  std::vector<std::string> documents;
  std::string pattern;
  BpeOptions bpe;
  std::string tokenizer_json;
};

inline TrainedCase trained_case(const std::string& name) {
  const std::string path = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/trained/" + name;
  const auto json = nlohmann::json::parse(contents(path + ".json"));
  TrainedCase found;
  json.at("documents").get_to(found.documents);
  json.at("pattern").get_to(found.pattern);
  json.at("vocab_size").get_to(found.bpe.vocabulary);
  found.bpe.min_frequency = json.value("min_frequency", 0);
  if (json.contains("max_token_length"))
    json.at("max_token_length").get_to(found.bpe.max_token_length);
  if (json.contains("special")) json.at("special").get_to(found.bpe.special);
  found.tokenizer_json = contents(path + ".tokenizer.json");
  return found;
}

/// The documents as JSON lines.
inline std::string json_lines(const std::vector<std::string>& documents) {
  std::string lines;
  for (const std::string& text : documents) lines += nlohmann::json{{"text", text}}.dump() + "\n";
  return lines;
}

}  // namespace triax::test

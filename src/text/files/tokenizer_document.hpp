// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tokenizer.json in memory: vocabulary and merges as plain lists, all else as JSON.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triax {

struct TokenizerDocument {
  nlohmann::json rest;  // without model.vocab (if it is an object) and model.merges
  std::vector<std::pair<std::string, std::int32_t>> vocab;  // by id
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
};

/// Reads a text; `place` names the file. UsageError where it is no such JSON.
TokenizerDocument read_tokenizer_document(std::string_view text, const std::string& place);

}  // namespace triax

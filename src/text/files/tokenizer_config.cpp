// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tokenizer_config.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::json;

json read_json(const std::string& path) {
  std::ifstream file(path);
  try {
    return json::parse(file);
  } catch (const json::exception& error) {
    throw UsageError(path + " is not JSON", error.what(), "Fetch the file again");
  }
}

// A token as a string, or as an object with its content.
std::optional<std::string> token(const json& config, const char* key) {
  const auto at = config.find(key);
  if (at == config.end()) return {};
  if (at->is_string()) return at->get<std::string>();
  if (at->is_object() && at->contains("content") && at->at("content").is_string())
    return at->at("content").get<std::string>();
  return {};
}

}  // namespace

TokenizerConfig read_tokenizer_config(const std::string& directory) {
  TokenizerConfig found;
  const auto take = [](std::optional<std::string>& into, std::optional<std::string> value) {
    if (!into) into = std::move(value);
  };
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const std::string path = directory + "/" + name;
    if (!std::filesystem::exists(path)) continue;
    const json config = read_json(path);
    if (!config.is_object()) throw UsageError(path + " is no JSON object", {}, "Fetch it again");
    take(found.begin, token(config, "bos_token"));
    take(found.end, token(config, "eos_token"));
    take(found.pad, token(config, "pad_token"));
    take(found.unk, token(config, "unk_token"));
  }
  return found;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tokenizer_config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::json;

json read_json(const TokenizerFiles& files, const std::string& name) {
  json value;
  try {
    value = json::parse(*files.find(name));
  } catch (const json::exception& error) {
    throw UsageError(files.path(name) + " is not JSON", error.what(), "Fetch the file again");
  }
  if (!value.is_object())
    throw UsageError(files.path(name) + " is no JSON object", {}, "Fetch it again");
  return value;
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

// {"50256": {"content": "<|endoftext|>", "special": true, ..}}
std::vector<AddedToken> added_tokens(const json& config, const std::string& path) {
  std::vector<AddedToken> tokens;
  const auto list = config.find("added_tokens_decoder");
  if (list == config.end() || !list->is_object()) return tokens;
  for (const auto& [id, value] : list->items()) {
    AddedToken token;
    const auto [at, error] = std::from_chars(id.data(), id.data() + id.size(), token.id);
    if (error != std::errc{} || at != id.data() + id.size() || token.id < 0 || !value.is_object())
      throw UsageError(fmt::format("{}: added_tokens_decoder has \"{}\"", path, id),
                       "its keys are token ids, its values objects", "Fetch the file again");
    token.content = value.value("content", "");
    token.special = value.value("special", false);
    token.normalized = value.value("normalized", true);
    token.single_word = value.value("single_word", false);
    token.lstrip = value.value("lstrip", false);
    token.rstrip = value.value("rstrip", false);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

// A token's id, or the first of a list of ids.
std::optional<std::int32_t> token_id(const json& config, const char* key) {
  json value = config.value(key, json());
  if (value.is_array() && !value.empty()) value = json(value.front());
  if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<std::int32_t>::max())
    return {};
  return value.get<std::int32_t>();
}

bool is_set(const json& config, const char* key) {
  const auto at = config.find(key);
  return at != config.end() && at->is_boolean() && at->get<bool>();
}

}  // namespace

TokenizerConfig read_tokenizer_config(const TokenizerFiles& files) {
  TokenizerConfig found;
  const auto take = [](std::optional<std::string>& into, std::optional<std::string> value) {
    if (!into) into = std::move(value);
  };
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    if (files.find(name) == nullptr) continue;
    const json config = read_json(files, name);
    take(found.begin, token(config, "bos_token"));
    take(found.end, token(config, "eos_token"));
    take(found.pad, token(config, "pad_token"));
    take(found.unk, token(config, "unk_token"));
    found.add_begin = found.add_begin || is_set(config, "add_bos_token");
    found.add_end = found.add_end || is_set(config, "add_eos_token");
    if (const auto type = token(config, "tokenizer_class")) found.tokenizer_class = *type;
    if (found.added.empty()) found.added = added_tokens(config, files.path(name));
  }
  if (found.tokenizer_class.empty()) found.tokenizer_class = files.class_name;
  if (!found.end && files.find("config.json") != nullptr)
    found.end_id = token_id(read_json(files, "config.json"), "eos_token_id");
  return found;
}

}  // namespace triax

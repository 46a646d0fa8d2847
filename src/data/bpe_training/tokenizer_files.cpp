// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/tokenizer_files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json byte_level(bool prefix_space, bool trim_offsets, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", use_regex}};
}

Json pre_tokenizer(const WordPattern& pattern) {
  if (pattern.of_byte_level) return byte_level(false, true, true);
  Json split = {{"type", "Split"},
                {"pattern", {{"Regex", pattern.pattern}}},
                {"behavior", "Isolated"},
                {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", Json::array({std::move(split), byte_level(false, true, false)})}};
}

Json added_tokens(const TrainedBpe& bpe, const std::vector<std::string>& special) {
  Json tokens = Json::array();
  for (std::size_t id = 0; id < special.size(); ++id)
    tokens.push_back({{"id", id},
                      {"content", bpe.tokens[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  return tokens;
}

// As a value of an object that begins at the left margin.
std::string as_value(const Json& value) {
  std::string text;
  for (const char c : value.dump(2)) text += c == '\n' ? "\n  " : std::string(1, c);
  return text;
}

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

// A library's tree of objects in order takes time by the square of their number.
std::string model_json(const TrainedBpe& bpe) {
  std::string text = R"({
    "type": "BPE",
    "dropout": null,
    "unk_token": null,
    "continuing_subword_prefix": null,
    "end_of_word_suffix": null,
    "fuse_unk": false,
    "byte_fallback": false,
    "ignore_merges": false,
    "vocab": {)";
  const auto token = [&](std::int32_t id) {
    return quoted(bpe.tokens[static_cast<std::size_t>(id)]);
  };
  for (std::size_t id = 0; id < bpe.tokens.size(); ++id)
    text += fmt::format("{}\n      {}: {}", id == 0 ? "" : ",", quoted(bpe.tokens[id]), id);
  text += "\n    },\n    \"merges\": [";
  const char* comma = "";
  for (const auto& [left, right] : bpe.merges)
    text += fmt::format("{}\n      [\n        {},\n        {}\n      ]", std::exchange(comma, ","),
                        token(left), token(right));
  return text + (bpe.merges.empty() ? "]\n  }" : "\n    ]\n  }");
}

}  // namespace

std::string tokenizer_json(const TrainedBpe& bpe, const WordPattern& pattern,
                           const std::vector<std::string>& special) {
  std::string text = "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null";
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format(",\n  \"{}\": {}", key, value);
  };
  add("added_tokens", as_value(added_tokens(bpe, special)));
  add("normalizer", "null");
  add("pre_tokenizer", as_value(pre_tokenizer(pattern)));
  add("post_processor", as_value(byte_level(true, false, true)));
  add("decoder", as_value(byte_level(true, true, true)));
  add("model", model_json(bpe));
  return text + "\n}";
}

std::string tokenizer_config_json(const std::string& end_token) {
  const Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"eos_token", end_token},
                       {"clean_up_tokenization_spaces", false}};
  return config.dump(2) + '\n';
}

void require_free_directory(const std::string& directory, bool overwrite) {
  if (overwrite || !fs::is_directory(directory)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path().filename() != ".lock")
      throw UsageError(directory + " has files already", entry.path().filename().string(),
                       "Set --out to another directory, or give --overwrite");
}

void write_tokenizer(const std::string& directory, const std::string& json,
                     const std::string& config) {
  const std::string json_path = directory + "/tokenizer.json";
  const std::string config_path = directory + "/tokenizer_config.json";
  fs::create_directories(directory);
  fs::remove(json_path);
  try {
    write_durably(config_path, config);
    write_durably(json_path, json);
  } catch (...) {
    std::error_code ignored;
    fs::remove(config_path, ignored);
    throw;
  }
}

}  // namespace triax

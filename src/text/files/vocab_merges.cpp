// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/vocab_merges.hpp"

#include <array>
#include <sstream>

#include "kernels/base/check.hpp"
#include "src/text/files/tokenizer_json.hpp"
#include "src/text/split/families.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace triax {
namespace {

using nlohmann::json;

struct Row {
  std::string_view name;
  std::string_view pattern;
  bool composed;  // text is normalized to NFC
};

constexpr std::array<Row, 6> rows = {{{"GPT2Tokenizer", gpt2_pattern, false},
                                      {"GPT2TokenizerFast", gpt2_pattern, false},
                                      {"RobertaTokenizer", gpt2_pattern, false},
                                      {"RobertaTokenizerFast", gpt2_pattern, false},
                                      {"Qwen2Tokenizer", qwen2_pattern, true},
                                      {"Qwen2TokenizerFast", qwen2_pattern, true}}};

const Row& row_of(const std::string& vocab_file, const TokenizerConfig& config) {
  const bool gpt2 = vocab_file.ends_with("encoder.json") && config.tokenizer_class.empty();
  const std::string_view name = gpt2 ? "GPT2Tokenizer" : std::string_view(config.tokenizer_class);
  for (const Row& row : rows)
    if (row.name == name) return row;
  throw UsageError(fmt::format("{}: the pattern of its tokenizer is not known", vocab_file),
                   name.empty()
                       ? "there is no tokenizer_config.json with a tokenizer_class beside it"
                       : fmt::format("tokenizer_class {} is not known", name),
                   "Use the tokenizer.json of the model");
}

// "#version: 0.2", then a merge per line.
json merges_in(const std::string& text) {
  std::istringstream file(text);
  json merges = json::array();
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    merges.push_back(line);
  }
  return merges;
}

json added_tokens(const json& vocab, const TokenizerConfig& config) {
  json tokens = json::array();
  for (const AddedToken& token : config.added)
    tokens.push_back({{"id", token.id},
                      {"content", token.content},
                      {"special", token.special},
                      {"normalized", token.normalized},
                      {"single_word", token.single_word},
                      {"lstrip", token.lstrip},
                      {"rstrip", token.rstrip}});
  // GPT-2's own files name no special token.
  if (tokens.empty() && vocab.contains("<|endoftext|>"))
    tokens.push_back({{"id", vocab["<|endoftext|>"]},
                      {"content", "<|endoftext|>"},
                      {"special", true},
                      {"normalized", false}});
  return tokens;
}

}  // namespace

// The files as the tokenizer.json that says the same.
PipelineParts parse_vocab_merges(const TokenizerFiles& files, const std::string& vocab_name,
                                 const std::string& merges_name, const TokenizerConfig& config) {
  const std::string vocab_file = files.path(vocab_name);
  const Row& row = row_of(vocab_file, config);
  const json vocab = json::parse(*files.find(vocab_name), nullptr, false);
  if (!vocab.is_object())
    throw UsageError(vocab_file + " is no JSON object", {}, "Fetch the file again");
  const json split = {
      {"type", "Split"}, {"pattern", {{"Regex", row.pattern}}}, {"behavior", "Isolated"}};
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  json document = {
      {"added_tokens", added_tokens(vocab, config)},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", json::array({split, bytes})}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges_in(*files.find(merges_name))}}}};
  if (row.composed) document["normalizer"] = {{"type", "NFC"}};
  PipelineParts parts = parse_tokenizer_json(document.dump(), vocab_file);
  if (parts.end.empty()) parts.end = "<|endoftext|>";
  return parts;
}

}  // namespace triax

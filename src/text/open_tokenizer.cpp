// SPDX-License-Identifier: Apache-2.0
#include "src/text/open_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/text/files/sentencepiece.hpp"
#include "src/text/files/tekken.hpp"
#include "src/text/files/tiktoken.hpp"
#include "src/text/files/tokenizer_json.hpp"
#include "src/text/files/vocab_merges.hpp"
#include "src/text/pipeline.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {
namespace {

// Name of the merges beside a vocabulary; empty where the tokenizer is no vocabulary with merges.
std::string merges_beside(const TokenizerFiles& files) {
  const std::string& name = files.tokenizer;
  if (name == "vocab.json" && files.find("merges.txt") != nullptr) return "merges.txt";
  if (name == "encoder.json" && files.find("vocab.bpe") != nullptr) return "vocab.bpe";
  return {};
}

// The content decides the format.
PipelineParts parse(const TokenizerFiles& files, const TokenizerConfig& config,
                    OpenedTokenizer& opened) {
  const std::string& path = opened.file;
  const std::string_view text = *files.find(files.tokenizer);
  if (const std::string merges = merges_beside(files); !merges.empty()) {
    opened.format = "vocabulary and merges";
    return parse_vocab_merges(files, files.tokenizer, merges, config);
  }
  if (is_tiktoken(text)) {
    opened.format = "tiktoken";
    return parse_tiktoken(text, path);
  }
  if (text.find_first_not_of(" \t\r\n") == text.npos ||
      text[text.find_first_not_of(" \t\r\n")] != '{') {
    opened.format = "SentencePiece";
    return parse_sentencepiece(text, path, config);
  }
  if (text.substr(0, 4096).find("\"token_bytes\"") != text.npos || path.ends_with("tekken.json")) {
    opened.format = "tekken";
    return parse_tekken(text, path);
  }
  opened.format = "tokenizer.json";
  return parse_tokenizer_json(text, path);
}

}  // namespace

OpenedTokenizer open_with_facts(const TokenizerFiles& files) {
  if (files.tokenizer.empty())
    throw UsageError(
        fmt::format("{} has no tokenizer", files.place),
        "there is no tokenizer.json, tekken.json, tokenizer.model, vocab.json or "
        "encoder.json",
        "Name the directory of a model with its tokenizer's files, or the file itself");
  OpenedTokenizer opened;
  opened.file = files.path(files.tokenizer);
  opened.config = read_tokenizer_config(files);
  PipelineParts parts = parse(files, opened.config, opened);
  if (opened.config.end) parts.end = *opened.config.end;
  parts.end_id = opened.config.end_id;
  opened.added = parts.added.size();
  opened.special = static_cast<std::size_t>(
      std::ranges::count_if(parts.added, [](const AddedToken& token) { return token.special; }));
  opened.before = parts.before;
  opened.after = parts.after;
  opened.tokenizer = make_pipeline(std::move(parts));
  return opened;
}

OpenedTokenizer open_with_facts(const std::string& name) {
  if (name != "bytes") return open_with_facts(read_tokenizer_files(name));
  OpenedTokenizer opened;
  opened.tokenizer = byte_tokenizer();
  opened.file = opened.format = name;
  return opened;
}

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
  return open_with_facts(path).tokenizer;
}

}  // namespace triax

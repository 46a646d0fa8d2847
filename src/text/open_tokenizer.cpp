// SPDX-License-Identifier: Apache-2.0
#include "src/text/open_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/files/lfs_pointer.hpp"
#include "io/files/mapped_file.hpp"
#include "kernels/base/check.hpp"
#include "src/text/files/sentencepiece.hpp"
#include "src/text/files/tekken.hpp"
#include "src/text/files/tiktoken.hpp"
#include "src/text/files/tokenizer_json.hpp"
#include "src/text/files/vocab_merges.hpp"
#include "src/text/pipeline.hpp"

namespace triax {
namespace {

namespace fs = std::filesystem;

// Where a directory has several, the first counts: transformers reads tokenizer.json as well.
constexpr const char* file_names[] = {"tokenizer.json", "tekken.json", "tokenizer.model",
                                      "vocab.json", "encoder.json"};

std::string file_in(const std::string& directory) {
  for (const char* name : file_names)
    if (fs::exists(directory + "/" + name)) return directory + "/" + name;
  throw UsageError(fmt::format("{} has no tokenizer", directory),
                   fmt::format("none of {} is there", fmt::join(file_names, ", ")),
                   "Name the directory of a model with its tokenizer's files, or the file itself");
}

// Merges beside a vocabulary; empty where `path` is no vocabulary with merges.
std::string merges_beside(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string name = fs::path(path).filename().string();
  if (name == "vocab.json" && fs::exists(folder / "merges.txt")) return folder / "merges.txt";
  if (name == "encoder.json" && fs::exists(folder / "vocab.bpe")) return folder / "vocab.bpe";
  return {};
}

// The content decides the format.
PipelineParts parse(std::string_view text, const TokenizerConfig& config, OpenedTokenizer& opened) {
  const std::string& path = opened.file;
  if (const std::string merges = merges_beside(path); !merges.empty()) {
    opened.format = "vocabulary and merges";
    return parse_vocab_merges(path, merges, config);
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

OpenedTokenizer open_with_facts(const std::string& path) {
  const bool directory = fs::is_directory(path);
  if (!directory && !fs::exists(path))
    throw UsageError(path + " does not exist", {}, "Name a tokenizer's directory or file");
  OpenedTokenizer opened;
  opened.file = directory ? file_in(path) : path;
  const std::string folder = directory ? path : fs::path(path).parent_path().string();
  opened.config = read_tokenizer_config(folder.empty() ? "." : folder);
  const MappedFile file(opened.file);
  refuse_lfs_pointer(file);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  PipelineParts parts = parse(text, opened.config, opened);
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

std::shared_ptr<const Tokenizer> open_tokenizer(const std::string& path) {
  return open_with_facts(path).tokenizer;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small corpora, and jobs on them.
#include "io/tokens/token_facts.hpp"
#include "src/data/files/token_set.hpp"
#include "src/data/tokenize/tokenize.hpp"
#include "tests/io/document_fixtures.hpp"

namespace triax::test {

constexpr std::int32_t end_token = 7;

/// Bytes of all files of a directory but those in folders, by name.
inline std::string files_of(const std::string& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::string all;
  for (const auto& path : paths)
    all += path.filename().string() + "\n" +
           (std::filesystem::is_directory(path) ? "a folder" : contents(path.string())) + "\n";
  return all;
}

inline TokenizeOptions job_of(const std::vector<std::string>& inputs, const std::string& out) {
  TokenizeOptions options;
  options.inputs = inputs;
  options.out = out;
  options.tokenizer = byte_tokenizer();
  options.end_token = end_token;
  return options;
}

/// Texts of a token file that byte_tokenizer() made, without their end tokens.
inline std::vector<std::string> texts_of(const std::string& path) {
  const TokenSet set(path);
  std::vector<std::string> texts;
  const auto walk = set.documents();
  std::int64_t begin = 0;
  std::vector<std::int32_t> tokens;
  while (const auto length = walk->next()) {
    tokens.resize(static_cast<std::size_t>(*length));
    set.read(begin, tokens);
    begin += *length;
    if (!tokens.empty() && tokens.back() == end_token) tokens.pop_back();
    texts.push_back(byte_tokenizer()->decode(tokens, false));
  }
  return texts;
}

/// JSON lines, document i being "text <i % distinct>".
inline std::string corpus(int documents, int distinct) {
  std::string lines;
  for (int i = 0; i < documents; ++i)
    lines += "{\"text\": \"text " + std::to_string(i % distinct) + "\"}\n";
  return lines;
}

}  // namespace triax::test

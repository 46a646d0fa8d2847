// SPDX-License-Identifier: Apache-2.0
#pragma once
// A token file with its facts and documents; llm.c's shards of one prefix are one.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/tokens/document_walk.hpp"
#include "io/tokens/token_facts.hpp"
#include "io/tokens/token_reader.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// `path`: a token file; of shards that triax made, the first. UsageError for text.
class TokenSet : public TokenFile {
 public:
  explicit TokenSet(const std::string& path);
  std::int64_t size() const override { return size_; }
  void read(std::int64_t begin, std::span<std::int32_t> out) const override;
  void check_length() const override;
  std::string_view format() const override { return files_.front()->format(); }

  const std::string& path() const { return path_; }
  const std::optional<TokenFacts>& facts() const { return facts_; }
  /// Null: the documents cannot be told apart.
  std::unique_ptr<DocumentWalk> documents() const;

 private:
  std::string path_;
  std::optional<TokenFacts> facts_;
  std::vector<std::unique_ptr<TokenFile>> files_;
  std::vector<std::int64_t> begins_;  // first token of each file
  std::int64_t size_ = 0;
};

/// UsageError where the file's facts name another tokenizer. A file without facts passes.
void require_same_tokenizer(const TokenSet& set, const Tokenizer& tokenizer);

}  // namespace triax

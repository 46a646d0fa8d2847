// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which file of a directory is its tokenizer, and what it says.
#include <memory>
#include <string>

#include "src/text/files/file_set.hpp"
#include "src/text/files/tokenizer_config.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// A tokenizer with the facts that `triax tokenizer inspect` shows.
struct OpenedTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string file;                         // that was read
  std::string format;                       // "tokenizer.json", "tiktoken", ...
  TokenizerConfig config;                   // of the files beside it
  std::size_t added = 0, special = 0;       // added tokens; those of them that are special
  std::vector<std::int32_t> before, after;  // ids that add_special_tokens puts around a text
};

/// As open_tokenizer(); also "bytes", and "gpt2:DIR" (gpt2_prefix).
OpenedTokenizer open_with_facts(const std::string& name);
/// The tokenizer that files in memory define.
OpenedTokenizer open_with_facts(const TokenizerFiles& files);

}  // namespace triax

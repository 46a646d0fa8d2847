// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files beside a tokenizer that say which of its tokens end, begin and fill texts.
#include <optional>
#include <string>

namespace triax {

/// Tokens of tokenizer_config.json, else of special_tokens_map.json.
struct TokenizerConfig {
  std::optional<std::string> begin, end, pad, unk;
};

/// Empty where the directory has none of the files. UsageError where one cannot be read.
TokenizerConfig read_tokenizer_config(const std::string& directory);

}  // namespace triax

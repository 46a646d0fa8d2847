// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files beside a tokenizer: tokens that begin, end and fill texts, and more of its tokens.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/text/added_tokens.hpp"
#include "src/text/files/file_set.hpp"

namespace triax {

/// Values of tokenizer_config.json; of special_tokens_map.json where that has none. GPT-2's
/// published files name the end in config.json alone.
struct TokenizerConfig {
  std::optional<std::string> begin, end, pad, unk;
  std::optional<std::int32_t> end_id;  // eos_token_id of config.json, if there is no `end`
  std::string tokenizer_class;         // empty: not named
  bool add_begin = false;              // add_bos_token
  bool add_end = false;                // add_eos_token
  std::vector<AddedToken> added;       // added_tokens_decoder
};

/// Empty where none of the files is there. UsageError where one is damaged.
TokenizerConfig read_tokenizer_config(const TokenizerFiles& files);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens that end a generated text.
#include <cstdint>
#include <string>
#include <vector>

#include "src/text/files/file_set.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// The end token of the tokenizer, and eos_token_id (a number or a list) of the model's config.json
/// and of generation_config.json among `files`; sorted, each once, those below `vocabulary`.
/// UsageError where one of the files is not JSON.
std::vector<std::int32_t> end_tokens(const std::string& config, const TokenizerFiles& files,
                                     const Tokenizer& tokenizer, std::int64_t vocabulary);

}  // namespace triax

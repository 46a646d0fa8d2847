// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of single tokens, for log-probabilities.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/text/tokenizer.hpp"

namespace triax {

/// Bytes that `id` adds to a text after the token `before`; those of a byte token ("<0xE2>") are
/// that byte. Empty for ids that the tokenizer has no text for.
std::string token_bytes(const Tokenizer& tokenizer, std::optional<std::int32_t> before,
                        std::int32_t id);

/// Bytes of every token of a text, for constraints; empty for special tokens.
std::vector<std::string> all_token_bytes(const Tokenizer& tokenizer);

/// Bytes as text: those that are no UTF-8 become U+FFFD.
std::string readable(const std::string& bytes);

}  // namespace triax

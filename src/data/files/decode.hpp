// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a token file's documents: `triax data decode`.
#include <cstdint>
#include <functional>
#include <string>

#include "src/data/files/token_set.hpp"

namespace triax {

struct DecodeRange {
  std::int64_t first = 0;         // document
  std::int64_t documents = 1;     // number of them
  std::int64_t most_tokens = -1;  // of each document; -1: all
};

/// Calls `document(number, text, whole)` for each document of the range. `whole`: it has no more
/// tokens than asked for. The end token is not part of the text. A file that does not tell its
/// documents apart is one. UsageError where the tokenizer is another, or there is no such document.
void decode_documents(const TokenSet& set, const Tokenizer& tokenizer, const DecodeRange& range,
                      const std::function<void(std::int64_t, const std::string&, bool)>& document);

}  // namespace triax

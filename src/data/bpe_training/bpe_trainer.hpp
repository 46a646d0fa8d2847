// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte-level BPE of counted words: the merges of Hugging Face tokenizers' BpeTrainer.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/data/bpe_training/options.hpp"
#include "src/data/bpe_training/token_words.hpp"

namespace triax {

/// A vocabulary; tokens are spelled in the byte alphabet, special ones as they are.
struct TrainedBpe {
  std::vector<std::string> tokens;                            // by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // by rank
};

/// The vocabulary before the first merge: special tokens, then the characters of the byte alphabet
/// by code point. UsageError for special tokens that are empty, not UTF-8, or given twice.
std::vector<std::string> first_tokens(const std::vector<std::string>& special);
/// Ids of the bytes in it.
ByteIds byte_ids(const std::vector<std::string>& first_tokens);

/// Merges until the vocabulary is full or no pair is frequent enough. `words` have the ids of
/// byte_ids(). `progress` gets the number of tokens made, after each merge. The result does not
/// depend on threads, nor on the order of the words.
TrainedBpe train_bpe(TokenWords& words, const BpeOptions& options, int threads,
                     const std::function<void(std::int64_t)>& progress);

}  // namespace triax

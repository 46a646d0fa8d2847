// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of a trained tokenizer, as Hugging Face's programs write them.
#include <string>
#include <vector>

#include "src/data/bpe_training/bpe_trainer.hpp"
#include "src/text/split/word_patterns.hpp"

namespace triax {

/// tokenizer.json: the bytes that Tokenizer.save() of tokenizers 0.23 writes.
std::string tokenizer_json(const TrainedBpe& bpe, const WordPattern& pattern,
                           const std::vector<std::string>& special);
/// tokenizer_config.json, which names the end token.
std::string tokenizer_config_json(const std::string& end_token);

/// UsageError where the directory has files and `overwrite` is not set. Its lock does not count.
void require_free_directory(const std::string& directory, bool overwrite);
/// Writes both files. tokenizer.json, without which the directory is no tokenizer, appears last and
/// whole; a failure leaves neither.
void write_tokenizer(const std::string& directory, const std::string& json,
                     const std::string& config);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tokenizer of a model's files.
#include <string>

#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/text/open_tokenizer.hpp"

namespace triax {

struct ModelTokenizer : OpenedTokenizer {
  bool assumed = false;       // bytes, as a checkpoint says nothing of its tokenizer
  TokenizerFiles files = {};  // of the model: also generation_config.json and chat templates
};

/// The tokenizer of a checkpoint or of a directory of Hugging Face's, or the one named `given` if
/// that is not empty; bytes for a checkpoint whose job names none. UsageError where the checkpoint
/// does not hold the tokenizer that its job names. One process.
ModelTokenizer model_tokenizer(const std::string& model, const std::string& given = {});

}  // namespace triax

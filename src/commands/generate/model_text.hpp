// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between a user's text and a model's tokens.
#include <memory>
#include <string>
#include <vector>

#include "src/inference/model_files.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

/// The tokenizer of a model, and the tokens that end its texts.
struct ModelText {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<std::int32_t> ends;
};

/// The tokenizer `named` if it is not empty, else that of the model's files, else (of a checkpoint
/// without one) bytes. UsageError where there is none. One process.
ModelText model_text(const ModelFiles& files, const std::string& named);

/// Tokens of a prompt. UsageError for a token that the model does not have.
std::vector<std::int32_t> prompt_tokens(const std::string& prompt, const Tokenizer& tokenizer,
                                        const ModelConfig& model);

}  // namespace triax

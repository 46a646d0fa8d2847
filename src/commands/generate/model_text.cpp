// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate/model_text.hpp"

#include <spdlog/spdlog.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "src/inference/end_tokens.hpp"
#include "src/inference/model_tokenizer.hpp"

namespace triax {
namespace {

// Text of the model's config.json.
std::string config_of(const ModelFiles& files) {
  if (!files.is_directory()) return CheckpointReader(files.path()).header().model;
  std::ifstream config(files.path() + "/config.json");
  return {std::istreambuf_iterator<char>(config), {}};
}

}  // namespace

ModelText model_text(const ModelFiles& files, const std::string& named) {
  ModelTokenizer of = model_tokenizer(files.path(), named);
  ModelText text{.tokenizer = std::move(of.tokenizer), .ends = {}};
  const std::int64_t vocabulary = files.model().vocabulary;
  text.ends = end_tokens(config_of(files), of.files, *text.tokenizer, vocabulary);
  if (vocabulary > text.tokenizer->vocabulary())
    spdlog::warn("the model has {} tokens, the tokenizer {}; the others are never drawn",
                 vocabulary, text.tokenizer->vocabulary());
  return text;
}

std::vector<std::int32_t> prompt_tokens(const std::string& prompt, const Tokenizer& tokenizer,
                                        const ModelConfig& model) {
  std::vector<std::int32_t> tokens;
  tokenizer.encoder()->encode(prompt, {.add_special_tokens = true}, tokens);
  for (const std::int32_t token : tokens)
    if (token >= model.vocabulary)
      throw UsageError(fmt::format("token {} of the prompt is not a token of the model", token),
                       fmt::format("its vocabulary has {} tokens", model.vocabulary),
                       "Set --tokenizer to the model's tokenizer");
  return tokens;
}

}  // namespace triax

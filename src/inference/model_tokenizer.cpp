// SPDX-License-Identifier: Apache-2.0
#include "src/inference/model_tokenizer.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "kernels/base/check.hpp"
#include "src/text/tokenizer_files.hpp"

namespace triax {
namespace {

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

}  // namespace

ModelTokenizer model_tokenizer(const std::string& model, const std::string& given) {
  const bool directory = is_directory(model);
  RunTokenizer saved = directory ? run_tokenizer(read_tokenizer_files(model))
                                 : saved_tokenizer(CheckpointReader(model));
  if (!given.empty()) {
    OpenedTokenizer opened = open_named_tokenizer(given);
    if (!saved.hash.empty() && saved.hash != opened.tokenizer->fingerprint())
      spdlog::warn("{} is not the tokenizer of the model: its SHA-256 is {}, the model's {}", given,
                   opened.tokenizer->fingerprint(), saved.hash);
    return {std::move(opened), false, std::move(saved.files)};
  }
  if (!saved.files.tokenizer.empty()) {
    OpenedTokenizer opened = open_with_facts(saved.files);
    return {std::move(opened), false, std::move(saved.files)};
  }
  if (saved.format == "bytes" || (saved.hash.empty() && !directory))
    return {open_with_facts("bytes"), saved.format.empty(), std::move(saved.files)};
  throw UsageError(
      model + " does not hold its tokenizer",
      saved.hash.empty()
          ? "the directory has no tokenizer.json or other file of one"
          : fmt::format("its job names the one of SHA-256 {}, which was not stored", saved.hash),
      "Set --tokenizer to it");
}

}  // namespace triax

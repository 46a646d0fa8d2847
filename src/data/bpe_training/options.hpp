// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job of `triax data train-tokenizer`, and the numbers it ends with.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"

namespace triax {

/// Options that decide the merges of given words. Names and meanings of BpeTrainer of Hugging Face
/// tokenizers.
struct BpeOptions {
  std::int64_t vocabulary = 0;     // entries, with special tokens and the 256 bytes
  std::int64_t min_frequency = 0;  // of a pair that is merged
  // Limit of tokens of three and more bytes: they are shorter than this.
  std::int64_t max_token_length = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> special = {"<|endoftext|>"};  // the first ends a document
};

struct TrainTokenizerOptions {
  std::vector<std::string> inputs;
  std::optional<DocumentFormat> input_format;  // nothing: by the files' names
  DocumentOptions documents;
  std::int64_t skip_bad = 0;  // lines that may be passed over
  std::string pattern = "gpt2";
  BpeOptions bpe;
  std::string out;         // directory
  bool overwrite = false;  // files that are there
  int workers = 1;         // threads per rank
};

struct TrainTokenizerReport {
  std::int64_t bytes = 0;  // of the input files
  std::int64_t documents = 0, invalid = 0, replaced = 0, bad_lines = 0;
  std::int64_t words = 0;  // different ones
  std::int64_t vocabulary = 0, merges = 0;
  double count_seconds = 0, merge_seconds = 0;
};

}  // namespace triax

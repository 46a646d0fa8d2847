// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job of `triax data tokenize`, and the numbers it ends with.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"
#include "io/tokens/write/token_writer.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

struct TokenizeOptions {
  std::vector<std::string> inputs;
  std::optional<DocumentFormat> input_format;  // nothing: by the files' names
  DocumentOptions documents;
  std::shared_ptr<const Tokenizer> tokenizer;
  bool special_tokens_in_text = false;
  std::optional<std::int32_t> end_token;  // behind each document; nothing: no token
  std::string out;                        // PREFIX
  TokenFormat format = TokenFormat::hdf5;
  std::int64_t shard_tokens = 100'000'000;  // of llm.c's shards
  std::int64_t min_length = 0;              // tokens of a document without its end token
  std::int64_t max_documents = 0;           // 0: all
  bool deduplicate = false;                 // the first of equal documents is kept
  std::optional<std::uint64_t> shuffle_seed;
  double validation_fraction = 0;  // of the documents; 0: no validation set
  std::int64_t skip_bad = 0;       // lines that may be passed over
  int workers = 1;                 // threads per rank
};

struct TokenizeReport {
  std::int64_t bytes = 0;  // of the input files
  std::int64_t documents = 0, tokens = 0;
  std::int64_t validation_documents = 0;                    // included in `documents`
  std::int64_t duplicates = 0, too_short = 0, invalid = 0;  // documents left out
  std::int64_t replaced = 0;                                // ill-formed UTF-8 sequences
  std::int64_t bad_lines = 0;
  std::int64_t resumed_units = 0, units = 0;
  std::vector<std::string> files;
  bool done_before = false;  // the files were there already, of the same job
};

/// A set of documents that gets files of its own.
struct OutputSet {
  std::string prefix;
  bool validation = false;
};

/// PREFIX alone, or PREFIX_train and PREFIX_val.
inline std::vector<OutputSet> output_sets(const TokenizeOptions& options) {
  if (options.validation_fraction <= 0) return {{options.out, false}};
  return {{options.out + "_train", false}, {options.out + "_val", true}};
}

}  // namespace triax

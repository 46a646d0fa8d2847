// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several token files as one: `triax data merge`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/tokens/write/token_writer.hpp"

namespace triax {

struct MergeOptions {
  std::vector<std::string> files;
  std::string out;                         // PREFIX
  std::optional<TokenFormat> format = {};  // nothing: that of the first file
  std::int64_t shard_tokens = 100'000'000;
};

/// Writes the documents of all files in their order. Returns the facts of the new file. UsageError
/// where the files were made by different tokenizers, or a file has a name of the output.
TokenFacts merge_token_files(const MergeOptions& options);

}  // namespace triax

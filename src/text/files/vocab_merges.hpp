// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPT-2's pair of files: vocab.json (or encoder.json) and merges.txt (or vocab.bpe).
#include <string>

#include "src/text/files/tokenizer_config.hpp"
#include "src/text/pipeline.hpp"

namespace triax {

/// The pattern is not in the files: it is that of `tokenizer_class` in tokenizer_config.json, or of
/// GPT-2 where the files have the names that GPT-2 was published with. UsageError for other
/// classes.
PipelineParts parse_vocab_merges(const TokenizerFiles& files, const std::string& vocab_name,
                                 const std::string& merges_name, const TokenizerConfig& config);

}  // namespace triax

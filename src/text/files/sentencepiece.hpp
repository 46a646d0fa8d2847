// SPDX-License-Identifier: Apache-2.0
#pragma once
// SentencePiece's .model: ModelProto of sentencepiece_model.proto (sentencepiece 0.2).
#include <string>
#include <string_view>

#include "src/text/files/tokenizer_config.hpp"
#include "src/text/pipeline.hpp"

namespace triax {

/// BPE and unigram models. `config` says which tokens go around texts. UsageError for other kinds
/// and for options that change ids and are not known.
PipelineParts parse_sentencepiece(std::string_view text, const std::string& place,
                                  const TokenizerConfig& config);

}  // namespace triax

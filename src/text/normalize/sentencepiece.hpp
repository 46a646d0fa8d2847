// SPDX-License-Identifier: Apache-2.0
#pragma once
// SentencePiece's own normalizer: a table of characters, and spaces.
#include <memory>
#include <string>

#include "src/text/normalize/normalizer.hpp"

namespace triax {

struct SentencePieceRules {
  std::string charsmap;  // precompiled_charsmap; empty: text stays
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// Applies the longest rule at each position, then removes spaces at the ends and repeated ones,
/// puts a space in front, and turns spaces into U+2581. UsageError where `charsmap` is damaged;
/// `place` names the file.
std::unique_ptr<const Normalizer> sentencepiece_normalizer(SentencePieceRules rules,
                                                           const std::string& place);

}  // namespace triax

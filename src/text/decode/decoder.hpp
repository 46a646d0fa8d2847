// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens back to text: steps that change the list of tokens, whose texts are joined at the end.
#include <memory>
#include <string>
#include <vector>

#include "src/text/split/splitter.hpp"

namespace triax {

/// Immutable: threads share it.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

using DecodeSteps = std::vector<std::unique_ptr<const DecodeStep>>;

/// Characters of the byte alphabet become bytes; tokens with other characters stay.
std::unique_ptr<const DecodeStep> bytes_from_alphabet();
/// Replaces each match in each token.
std::unique_ptr<const DecodeStep> replacing_in_tokens(std::shared_ptr<const Splitter> pattern,
                                                      std::string content);
/// Runs of "<0xAB>" become bytes; a run that is not UTF-8, one U+FFFD per byte.
std::unique_ptr<const DecodeStep> bytes_from_fallback();
/// Joins all tokens.
std::unique_ptr<const DecodeStep> fusing();
/// Removes up to `start` and `stop` of `content` at the ends of each token.
std::unique_ptr<const DecodeStep> stripping_tokens(std::string content, std::size_t start,
                                                   std::size_t stop);
/// `mark` becomes a space; those of the first token vanish if `prepended`.
std::unique_ptr<const DecodeStep> spaces_from_marks(const std::string& mark, bool prepended);
/// Puts spaces between tokens: a tokenizer.json without a decoder.
std::unique_ptr<const DecodeStep> spacing();

}  // namespace triax

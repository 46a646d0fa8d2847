// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text as lm-evaluation-harness gives it to a model (class HFLM of version 0.4.13).
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/text/open_tokenizer.hpp"

namespace triax {

/// A tokenizer, and the tokens that it puts around texts.
struct EvaluationTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::vector<std::int32_t> before = {}, after = {};  // around a whole text (BOS of Llama)
  std::optional<std::int32_t> prefix = {};  // the token in front of an empty context: BOS, or EOS
};

EvaluationTokenizer evaluation_tokenizer(const OpenedTokenizer& opened);

/// Tokens of a context and of what follows it.
struct EncodedPair {
  std::vector<std::int32_t> context, continuation;
};

class TextEncoder {
 public:
  explicit TextEncoder(const EvaluationTokenizer& tokenizer);

  const EvaluationTokenizer& tokenizer() const { return tokenizer_; }
  /// Appends the ids of a text, or of a piece of one, without tokens around it. Names of special
  /// tokens in the text are these tokens.
  void encode_piece(std::string_view text, std::vector<std::int32_t>& ids) const;
  /// Tokens around a text that begins so: none where it begins with the prefix token itself.
  bool is_framed(std::string_view text) const;
  /// Ids of a whole text with the tokens around it.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Both are encoded together and split where the context ends; white space at the end of the
  /// context goes to the continuation. UsageError for an empty context without a prefix token.
  EncodedPair encode_pair(std::string_view context, std::string_view continuation) const;
  std::string decode(std::span<const std::int32_t> ids) const;

 private:
  EvaluationTokenizer tokenizer_;
  std::string prefix_text_;  // empty: no prefix token
  std::unique_ptr<Tokenizer::Encoder> encoder_;
};

/// Bytes of the white space (Python's str.rstrip) at the end of a text.
std::size_t trailing_space(std::string_view text);

/// Counts the words of a text as Python's len(re.split(r"\s+", text)).
class WordCount {
 public:
  /// The next piece of the text.
  void add(std::string_view piece);
  std::int64_t words() const { return runs_ + 1; }

 private:
  std::int64_t runs_ = 0;  // of white space
  bool in_run_ = false;
};

}  // namespace triax

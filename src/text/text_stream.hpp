// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of tokens that come one by one.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/text/tokenizer.hpp"

namespace triax {

/// Decodes each token beside those before it, since a space or a character may lie in several.
class TextStream {
 public:
  explicit TextStream(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special_tokens = false)
      : tokenizer_(std::move(tokenizer)), skip_special_tokens_(skip_special_tokens) {}

  /// Text that `id` adds; empty while a character is not whole, for 3 tokens at most: more of them
  /// are no character. The texts joined are the text of
  /// decode() of all ids, unless bytes among them are no character.
  std::string next(std::int32_t id);
  /// Text that is left at the end, with U+FFFD for a character that is not whole.
  std::string rest();

 private:
  std::string emit(bool at_end);

  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_tokens_;
  std::vector<std::int32_t> ids_;  // of the last text that was emitted, and those after it
  std::size_t emitted_ = 0;        // ids whose text is out
};

}  // namespace triax

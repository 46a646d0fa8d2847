// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens that are found in the text before it is cut into pieces.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// An entry of `added_tokens` of a tokenizer.json.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      // never taken from text that may not name special tokens
  bool normalized = false;   // looked for in the normalized text
  bool single_word = false;  // only where no letter or digit touches it
  bool lstrip = false;       // takes the spaces before it
  bool rstrip = false;       // takes the spaces after it
};

/// Finds added tokens: the leftmost, of these the longest, as Hugging Face tokenizers does.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens = {});

  /// Calls `text_part(part, offset)` for text between tokens and `token(id)` for tokens, in order.
  template <class TextPart, class Token>
  void cut(std::string_view text, bool special_tokens, TextPart&& text_part, Token&& token) const {
    std::size_t done = 0;  // text before it is passed on
    for (std::size_t at = next_candidate(text, 0); at < text.size();) {
      const AddedToken* found = longest_at(text, at);
      if (found == nullptr) {
        at = next_candidate(text, at + 1);
        continue;
      }
      std::size_t begin = at, end = at + found->content.size();
      at = next_candidate(text, end);
      if (!accepted(*found, text, special_tokens, done, begin, end)) continue;
      if (begin > done) text_part(text.substr(done, begin - done), done);
      token(found->id);
      done = end;
    }
    if (done < text.size()) text_part(text.substr(done), done);
  }

  bool empty() const { return tokens_.empty(); }

 private:
  // Position from `at` on of a byte that a token begins with, or the text's size.
  std::size_t next_candidate(std::string_view text, std::size_t at) const {
    if (tokens_.empty()) return text.size();
    while (at < text.size() && !first_bytes_[static_cast<unsigned char>(text[at])]) ++at;
    return at;
  }
  const AddedToken* longest_at(std::string_view text, std::size_t at) const;
  // Whether the match counts; moves its ends over the spaces that it takes.
  static bool accepted(const AddedToken& token, std::string_view text, bool special_tokens,
                       std::size_t done, std::size_t& begin, std::size_t& end);

  std::vector<AddedToken> tokens_;  // by content
  std::array<bool, 256> first_bytes_{};
};

}  // namespace triax

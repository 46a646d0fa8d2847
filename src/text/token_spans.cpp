// SPDX-License-Identifier: Apache-2.0
#include "src/text/token_spans.hpp"

#include <array>
#include <charconv>
#include <string>

namespace triax {
namespace {

constexpr std::string_view space_mark = "\u2581";  // ▁ of SentencePiece

// "<0xAB>" of a byte that has no token of its own.
std::optional<char> fallback_byte(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling.back() != '>') return {};
  unsigned value = 0;
  const auto [at, error] = std::from_chars(spelling.data() + 3, spelling.data() + 5, value, 16);
  if (error != std::errc{} || at != spelling.data() + 5) return {};
  return static_cast<char>(value);
}

// Spelling with spaces for their marks.
std::string with_spaces(std::string_view spelling) {
  std::string text;
  for (std::size_t at = 0; at < spelling.size();) {
    const bool mark = spelling.substr(at).starts_with(space_mark);
    if (mark)
      text += ' ';
    else
      text += spelling[at];
    at += mark ? space_mark.size() : 1;
  }
  return text;
}

// Spellings that a token may have in a text: its own, as decoded alone, and SentencePiece's.
class Spellings {
 public:
  Spellings(const Tokenizer& tokenizer, std::int32_t id) : own_(tokenizer.token(id)) {
    const std::array<std::int32_t, 1> one = {id};
    texts_[0] = tokenizer.decode(one, false);
    texts_[1] = with_spaces(own_);
    texts_[2] = own_;
    if (const auto byte = fallback_byte(own_)) texts_[0] = std::string(1, *byte);
  }

  // The first one that `text` begins with; empty: none. The longest reading counts: a space that
  // decoding drops at the start of a text is a byte inside of it.
  std::string_view at(std::string_view text) const {
    std::string_view found;
    for (const std::string& spelling : texts_)
      if (spelling.size() > found.size() && text.starts_with(spelling)) found = spelling;
    return found;
  }
  // Whether the token is a space in front of `text` that the text does not have.
  bool is_before(std::string_view text) const {
    return texts_[1].starts_with(' ') && text.starts_with(std::string_view(texts_[1]).substr(1));
  }
  std::size_t length_without_space() const { return texts_[1].size() - 1; }

 private:
  std::string own_;
  std::array<std::string, 3> texts_;
};

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::optional<std::vector<TokenSpan>> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                                  std::span<const std::int32_t> ids) {
  std::vector<TokenSpan> spans;
  std::size_t at = 0;
  for (const std::int32_t id : ids) {
    const Spellings spellings(tokenizer, id);
    const std::size_t begin = at;
    std::string_view found = spellings.at(text.substr(at));
    if (found.empty() && spellings.is_before(text.substr(at))) {
      at += spellings.length_without_space();
      spans.push_back({begin, at});
      continue;
    }
    while (found.empty() && at < text.size() && is_blank(text[at]))
      found = spellings.at(text.substr(++at));
    if (found.empty()) return {};
    // Blanks before the token are of the token before it, or of this one.
    at += found.size();
    spans.push_back({begin, at});
  }
  while (at < text.size() && is_blank(text[at])) ++at;
  if (at != text.size()) return {};
  if (!spans.empty()) spans.back().end = at;
  return spans;
}

}  // namespace triax

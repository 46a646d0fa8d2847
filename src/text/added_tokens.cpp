// SPDX-License-Identifier: Apache-2.0
#include "src/text/added_tokens.hpp"

#include <algorithm>

#include "src/text/unicode/classes.hpp"

namespace triax {
namespace {

bool is_space(std::string_view text, std::size_t at) {
  const CodePoint c = code_point_at(text.data() + at, text.data() + text.size());
  return (CharacterClasses::table().of(c.value) & classes::space) != 0;
}

std::size_t before(std::string_view text, std::size_t at) {
  const char* begin = text.data();
  return static_cast<std::size_t>(previous_code_point(begin, begin + at) - begin);
}

bool is_word(std::string_view text, std::size_t at) {
  return is_word_character(code_point_at(text.data() + at, text.data() + text.size()).value);
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::ranges::sort(tokens_, {}, [](const AddedToken& token) {
    return std::pair<const std::string&, std::int32_t>(token.content, token.id);
  });
  for (const AddedToken& token : tokens_)
    first_bytes_[static_cast<unsigned char>(token.content.front())] = true;
}

// Narrows the sorted tokens by one byte after the other.
const AddedToken* AddedTokenFinder::longest_at(std::string_view text, std::size_t at) const {
  const AddedToken* found = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (std::size_t i = 0; first != last; ++i) {
    if (first->content.size() == i) {
      found = &*first;
      while (first != last && first->content.size() == i) ++first;
    }
    if (at + i >= text.size()) break;
    const auto byte = static_cast<unsigned char>(text[at + i]);
    const auto byte_of = [i](const AddedToken& token) {
      return static_cast<unsigned char>(token.content[i]);
    };
    first = std::ranges::lower_bound(first, last, byte, {}, byte_of);
    last = std::ranges::upper_bound(first, last, byte, {}, byte_of);
  }
  return found;
}

bool AddedTokenFinder::accepted(const AddedToken& token, std::string_view text, bool special_tokens,
                                std::size_t done, std::size_t& begin, std::size_t& end) {
  if (token.special && !special_tokens) return false;
  if (token.single_word && ((begin > 0 && is_word(text, before(text, begin))) ||
                            (end < text.size() && is_word(text, end))))
    return false;
  if (token.lstrip)
    while (begin > done && is_space(text, before(text, begin))) begin = before(text, begin);
  if (token.rstrip)
    while (end < text.size() && is_space(text, end))
      end += code_point_at(text.data() + end, text.data() + text.size()).bytes;
  return true;
}

}  // namespace triax

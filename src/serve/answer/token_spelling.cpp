// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/token_spelling.hpp"

#include <array>
#include <charconv>
#include <span>

#include "src/text/unicode/utf8_stream.hpp"

namespace triax {
namespace {

// The byte of a token that is spelled "<0xE2>".
std::optional<char> named_byte(const std::string& token) {
  constexpr std::size_t size = 6;
  if (token.size() != size || !token.starts_with("<0x") || token.back() != '>') return {};
  unsigned value = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + size - 1, value, 16);
  if (error != std::errc() || end != token.data() + size - 1) return {};
  return static_cast<char>(value);
}

}  // namespace

std::string token_bytes(const Tokenizer& tokenizer, std::optional<std::int32_t> before,
                        std::int32_t id) {
  if (id < 0 || id >= tokenizer.vocabulary()) return {};
  if (const auto byte = named_byte(tokenizer.token(id))) return {*byte};
  if (before && *before >= 0 && *before < tokenizer.vocabulary()) {
    const std::array<std::int32_t, 2> both = {*before, id};
    const std::string first = tokenizer.decode(std::span(both).first(1), false);
    const std::string text = tokenizer.decode(both, false);
    if (text.starts_with(first)) return text.substr(first.size());
  }
  return tokenizer.decode(std::span(&id, 1), false);
}

std::vector<std::string> all_token_bytes(const Tokenizer& tokenizer) {
  // Behind a word: some tokenizers take the blank of a text's first token away.
  std::vector<std::int32_t> word;
  tokenizer.encoder()->encode("a", {}, word);
  const std::optional<std::int32_t> before =
      word.empty() ? std::nullopt : std::optional(word.back());
  std::vector<std::string> all(static_cast<std::size_t>(tokenizer.vocabulary()));
  for (std::int32_t id = 0; id < tokenizer.vocabulary(); ++id) {
    const bool special = tokenizer.decode(std::span(&id, 1), true).empty() &&
                         !tokenizer.decode(std::span(&id, 1), false).empty();
    if (!special) all[static_cast<std::size_t>(id)] = token_bytes(tokenizer, before, id);
  }
  return all;
}

std::string readable(const std::string& bytes) {
  Utf8Stream characters;
  std::string text = characters.next(bytes);
  return text + characters.rest();
}

}  // namespace triax

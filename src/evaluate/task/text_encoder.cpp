// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/task/text_encoder.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"
#include "src/text/unicode/classes.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

// Python's str.isspace: White_Space, and four separators of ASCII.
bool is_space(char32_t c) {
  if (c >= 0x1C && c <= 0x1F) return true;
  return (CharacterClasses::table().of(c) & (classes::space | classes::newline)) != 0;
}

std::optional<std::int32_t> id_of(const Tokenizer& tokenizer,
                                  const std::optional<std::string>& token) {
  return token ? tokenizer.id_of(*token) : std::nullopt;
}

}  // namespace

EvaluationTokenizer evaluation_tokenizer(const OpenedTokenizer& opened) {
  const auto begin = id_of(*opened.tokenizer, opened.config.begin);
  return {.tokenizer = opened.tokenizer,
          .before = opened.before,
          .after = opened.after,
          .prefix = begin ? begin : opened.tokenizer->end_token()};
}

TextEncoder::TextEncoder(const EvaluationTokenizer& tokenizer)
    : tokenizer_(tokenizer), encoder_(tokenizer.tokenizer->encoder()) {
  if (tokenizer.prefix)
    prefix_text_ = tokenizer.tokenizer->decode(std::span(&*tokenizer.prefix, 1), false);
}

void TextEncoder::encode_piece(std::string_view text, std::vector<std::int32_t>& ids) const {
  encoder_->encode(text, {.special_tokens_in_text = true}, ids);
}

bool TextEncoder::is_framed(std::string_view text) const {
  return prefix_text_.empty() || !text.starts_with(prefix_text_);
}

std::vector<std::int32_t> TextEncoder::encode(std::string_view text) const {
  const bool framed = is_framed(text);
  std::vector<std::int32_t> ids;
  if (framed) ids = tokenizer_.before;
  encode_piece(text, ids);
  if (framed) ids.insert(ids.end(), tokenizer_.after.begin(), tokenizer_.after.end());
  return ids;
}

EncodedPair TextEncoder::encode_pair(std::string_view context,
                                     std::string_view continuation) const {
  EncodedPair pair;
  const std::string whole = std::string(context) + std::string(continuation);
  context.remove_suffix(trailing_space(context));
  if (context.empty()) {
    if (!tokenizer_.prefix)
      throw UsageError("the context is empty",
                       "the tokenizer names no token that begins or ends a text, which would "
                       "stand in its place",
                       "Give every document a context");
    encode_piece(whole, pair.continuation);
    pair.context = {*tokenizer_.prefix};
    if (!pair.continuation.empty() && pair.continuation.front() == *tokenizer_.prefix)
      pair.continuation.erase(pair.continuation.begin());
    return pair;
  }
  pair.context = encode(context);
  pair.continuation = encode(whole);
  const std::size_t before = std::min(pair.context.size(), pair.continuation.size());
  pair.continuation.erase(pair.continuation.begin(),
                          pair.continuation.begin() + static_cast<std::ptrdiff_t>(before));
  return pair;
}

std::string TextEncoder::decode(std::span<const std::int32_t> ids) const {
  return tokenizer_.tokenizer->decode(ids, true);
}

std::size_t trailing_space(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = end;
  while (at > begin) {
    const char* const before = previous_code_point(begin, at);
    if (!is_space(code_point_at(before, end).value)) break;
    at = before;
  }
  return static_cast<std::size_t>(end - at);
}

void WordCount::add(std::string_view piece) {
  const char* const end = piece.data() + piece.size();
  for (const char* at = piece.data(); at < end;) {
    const CodePoint point = code_point_at(at, end);
    const bool space = is_space(point.value);
    if (space && !in_run_) ++runs_;
    in_run_ = space;
    at += point.bytes;
  }
}

}  // namespace triax

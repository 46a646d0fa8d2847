// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/token_stream.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax::jinja {
namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case Token::Kind::data:
      return "text";
    case Token::Kind::print_begin:
      return "{{";
    case Token::Kind::print_end:
      return "}}";
    case Token::Kind::block_begin:
      return "{%";
    case Token::Kind::block_end:
      return "%}";
    case Token::Kind::end:
      return "the end of the template";
    case Token::Kind::text:
      return fmt::format("the text '{}'", token.text);
    default:
      return fmt::format("'{}'", token.text);
  }
}

}  // namespace

TokenStream::TokenStream(const Source& source) : source_(source), tokens_(tokens_of(source)) {}

Token TokenStream::next() {
  Token token = now();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::is_symbol(std::string_view text) const {
  return now().kind == Token::Kind::symbol && now().text == text;
}

bool TokenStream::is_name(std::string_view text) const {
  return now().kind == Token::Kind::name && now().text == text;
}

bool TokenStream::skip_symbol(std::string_view text) {
  const bool found = is_symbol(text);
  if (found) next();
  return found;
}

bool TokenStream::skip_name(std::string_view text) {
  const bool found = is_name(text);
  if (found) next();
  return found;
}

void TokenStream::expect_symbol(std::string_view text) {
  if (!skip_symbol(text)) throw unexpected(fmt::format("'{}'", text));
}

void TokenStream::expect_name(std::string_view text) {
  if (!skip_name(text)) throw unexpected(fmt::format("'{}'", text));
}

Token TokenStream::expect(Token::Kind kind, const char* what) {
  if (!is(kind)) throw unexpected(what);
  return next();
}

UsageError TokenStream::error(std::size_t at, const std::string& what) const {
  return template_error(source_, at, what);
}

UsageError TokenStream::unexpected(const std::string& expected) const {
  return error(now().at, fmt::format("unexpected {}, expected {}", shown(now()), expected));
}

}  // namespace triax::jinja

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens with a position, for the parsers.
#include <string>
#include <string_view>
#include <vector>

#include "src/text/template/syntax/lexer.hpp"

namespace triax::jinja {

class TokenStream {
 public:
  /// The source outlives the stream.
  explicit TokenStream(const Source& source);

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool is(Token::Kind kind) const { return now().kind == kind; }
  bool is_symbol(std::string_view text) const;
  bool is_name(std::string_view text) const;
  bool skip_symbol(std::string_view text);
  bool skip_name(std::string_view text);
  void expect_symbol(std::string_view text);
  void expect_name(std::string_view text);
  Token expect(Token::Kind kind, const char* what);

  const Source& source() const { return source_; }
  UsageError error(std::size_t at, const std::string& what) const;
  /// "unexpected X, expected WHAT" at the current token.
  UsageError unexpected(const std::string& expected) const;

 private:
  const Source& source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace triax::jinja

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Expressions of templates, with Jinja's precedence.
#include "src/text/template/syntax/token_stream.hpp"
#include "src/text/template/syntax/tree.hpp"

namespace triax::jinja {

class ExpressionParser {
 public:
  /// The stream outlives the parser.
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// An expression with `a if b else c`. UsageError with line and column, as all the others.
  ExpressionPtr parse();
  /// An expression without `if` of its own: the condition of a block, the items of a loop.
  ExpressionPtr parse_plain();
  /// One expression, or several with commas, which are a tuple. `plain`: as parse_plain().
  ExpressionPtr parse_tuple(bool plain);
  /// Filters without a value before them: {% filter NAME %}.
  ExpressionPtr parse_block_filters();
  /// A function with its arguments: {% call NAME(...) %}.
  ExpressionPtr parse_call_target();

  /// Whether names `varargs` and `kwargs` were met; the caller sets them back.
  struct Mentioned {
    bool varargs = false, kwargs = false;
  };
  Mentioned mentioned;

 private:
  ExpressionPtr parse_either();
  ExpressionPtr parse_both();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name(Token token);
  ExpressionPtr parse_parenthesis();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr left);
  ExpressionPtr parse_filters(ExpressionPtr left);
  ExpressionPtr parse_filter(ExpressionPtr left);
  ExpressionPtr parse_test(ExpressionPtr left);
  ExpressionPtr parse_attribute(ExpressionPtr left);
  ExpressionPtr parse_subscript(ExpressionPtr left);
  ExpressionPtr parse_slice_bound();
  ExpressionPtr parse_call(ExpressionPtr left);
  CallArguments parse_arguments();
  bool parse_comparison_operator(Comparison& found);
  bool tuple_ends() const;

  TokenStream& tokens_;
  int depth_ = 0;
};

}  // namespace triax::jinja

// SPDX-License-Identifier: Apache-2.0
// Names, literals, and things behind a value: attributes, subscripts, calls, filters, tests.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/text/template/syntax/expression_parser.hpp"

namespace triax::jinja {
namespace {

using Kind = Expression::Kind;
using Tokens = Token::Kind;

ExpressionPtr make(Kind kind, std::size_t at, ExpressionPtr first = nullptr) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->at = at;
  if (first) made->adopt(std::move(first));
  return made;
}

ExpressionPtr constant(std::size_t at, Value value) {
  auto made = make(Kind::constant, at);
  made->value = std::move(value);
  return made;
}

}  // namespace

ExpressionPtr ExpressionParser::parse_primary() {
  if (tokens_.is_symbol("(")) return parse_parenthesis();
  if (tokens_.is_symbol("[")) return parse_list();
  if (tokens_.is_symbol("{")) return parse_dict();
  switch (tokens_.now().kind) {
    case Tokens::name:
      return parse_name(tokens_.next());
    case Tokens::integer: {
      const Token token = tokens_.next();
      return constant(token.at, Value::of(token.integer));
    }
    case Tokens::number: {
      const Token token = tokens_.next();
      return constant(token.at, Value::of(token.number));
    }
    case Tokens::text: {
      Token token = tokens_.next();
      while (tokens_.is(Tokens::text)) token.text += tokens_.next().text;
      return constant(token.at, Value::of(std::move(token.text)));
    }
    default:
      throw tokens_.unexpected("an expression");
  }
}

ExpressionPtr ExpressionParser::parse_name(Token token) {
  if (token.text == "true" || token.text == "True") return constant(token.at, Value::of(true));
  if (token.text == "false" || token.text == "False") return constant(token.at, Value::of(false));
  if (token.text == "none" || token.text == "None") return constant(token.at, Value::none());
  if (token.text == "varargs") mentioned.varargs = true;
  if (token.text == "kwargs") mentioned.kwargs = true;
  auto made = make(Kind::name, token.at);
  made->name = std::move(token.text);
  return made;
}

ExpressionPtr ExpressionParser::parse_parenthesis() {
  const std::size_t at = tokens_.next().at;
  if (tokens_.skip_symbol(")")) return make(Kind::tuple, at);
  ExpressionPtr inside = parse_tuple(false);
  tokens_.expect_symbol(")");
  return inside;
}

ExpressionPtr ExpressionParser::parse_list() {
  ExpressionPtr list = make(Kind::list, tokens_.next().at);
  while (!tokens_.is_symbol("]")) {
    list->adopt(parse());
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol("]");
  return list;
}

ExpressionPtr ExpressionParser::parse_dict() {
  ExpressionPtr dict = make(Kind::dict, tokens_.next().at);
  while (!tokens_.is_symbol("}")) {
    dict->adopt(parse());
    tokens_.expect_symbol(":");
    dict->adopt(parse());
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol("}");
  return dict;
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr left) {
  for (;;) {
    if (tokens_.is_symbol("."))
      left = parse_attribute(std::move(left));
    else if (tokens_.is_symbol("["))
      left = parse_subscript(std::move(left));
    else if (tokens_.is_symbol("("))
      left = parse_call(std::move(left));
    else
      return left;
  }
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr left) {
  for (;;) {
    if (tokens_.skip_symbol("|"))
      left = parse_filter(std::move(left));
    else if (tokens_.is_name("is"))
      left = parse_test(std::move(left));
    else if (tokens_.is_symbol("("))
      left = parse_call(std::move(left));
    else
      return left;
  }
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr left) {
  Token token = tokens_.expect(Tokens::name, "the name of a filter");
  ExpressionPtr made = make(Kind::filter, token.at);
  made->adopt(std::move(left));
  made->name = std::move(token.text);
  if (tokens_.is_symbol("(")) made->adopt(parse_arguments());
  return made;
}

ExpressionPtr ExpressionParser::parse_block_filters() {
  ExpressionPtr chain = parse_filter(nullptr);
  while (tokens_.skip_symbol("|")) chain = parse_filter(std::move(chain));
  return chain;
}

ExpressionPtr ExpressionParser::parse_call_target() {
  ExpressionPtr target = parse();
  if (target->kind != Kind::call)
    throw tokens_.error(target->at, "{% call %} needs a call of a macro");
  return target;
}

// Jinja takes one argument without parentheses: x is divisibleby 3.
ExpressionPtr ExpressionParser::parse_test(ExpressionPtr left) {
  tokens_.next();
  const bool negated = tokens_.skip_name("not");
  Token token = tokens_.expect(Tokens::name, "the name of a test");
  ExpressionPtr made = make(Kind::test, token.at, std::move(left));
  made->name = std::move(token.text);
  static constexpr std::array words = {"else", "or", "and"};
  const bool word = tokens_.is(Tokens::name) && std::ranges::any_of(words, [&](const char* name) {
                      return tokens_.is_name(name);
                    });
  if (tokens_.is_symbol("(")) {
    made->adopt(parse_arguments());
  } else if ((tokens_.is(Tokens::name) && !word) || tokens_.is(Tokens::text) ||
             tokens_.is(Tokens::integer) || tokens_.is(Tokens::number) || tokens_.is_symbol("[") ||
             tokens_.is_symbol("{")) {
    if (tokens_.is_name("is")) throw tokens_.error(tokens_.now().at, "a test of a test: use and");
    CallArguments one;
    one.positional.push_back(parse_postfix(parse_primary()));
    made->adopt(std::move(one));
  }
  if (!negated) return made;
  const std::size_t at = made->at;
  return make(Kind::negation, at, std::move(made));
}

ExpressionPtr ExpressionParser::parse_attribute(ExpressionPtr left) {
  tokens_.next();
  if (tokens_.is(Tokens::integer)) {
    const Token index = tokens_.next();
    ExpressionPtr made = make(Kind::subscript, index.at, std::move(left));
    made->adopt(constant(index.at, Value::of(index.integer)));
    return made;
  }
  Token token = tokens_.expect(Tokens::name, "the name of an attribute");
  ExpressionPtr made = make(Kind::attribute, token.at, std::move(left));
  made->name = std::move(token.text);
  return made;
}

ExpressionPtr ExpressionParser::parse_slice_bound() {
  const bool open = tokens_.is_symbol(":") || tokens_.is_symbol("]");
  return open ? nullptr : parse();
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr left) {
  const std::size_t at = tokens_.next().at;
  ExpressionPtr first = parse_slice_bound();
  ExpressionPtr made = make(Kind::subscript, at, std::move(left));
  if (tokens_.is_symbol(":")) {
    made->kind = Kind::slice;
    made->adopt(std::move(first));
    for (int i = 0; i < 2; ++i)
      made->adopt(tokens_.skip_symbol(":") ? parse_slice_bound() : nullptr);
  } else {
    if (!first) throw tokens_.unexpected("an index");
    made->adopt(std::move(first));
  }
  tokens_.expect_symbol("]");
  return made;
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr left) {
  ExpressionPtr made = make(Kind::call, tokens_.now().at, std::move(left));
  made->adopt(parse_arguments());
  return made;
}

CallArguments ExpressionParser::parse_arguments() {
  CallArguments arguments;
  tokens_.expect_symbol("(");
  while (!tokens_.is_symbol(")")) {
    const bool named = tokens_.is(Tokens::name) && tokens_.ahead().kind == Tokens::symbol &&
                       tokens_.ahead().text == "=";
    if (tokens_.skip_symbol("**")) {
      arguments.more_named = parse();
    } else if (tokens_.skip_symbol("*")) {
      arguments.more = parse();
    } else if (named) {
      std::string name = tokens_.next().text;
      tokens_.next();
      arguments.named.emplace_back(std::move(name), parse());
    } else {
      if (!arguments.named.empty() || arguments.more || arguments.more_named)
        throw tokens_.unexpected("a named argument");
      arguments.positional.push_back(parse());
    }
    if (!tokens_.skip_symbol(",")) break;
  }
  tokens_.expect_symbol(")");
  return arguments;
}

}  // namespace triax::jinja

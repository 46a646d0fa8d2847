// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/expression_parser.hpp"

#include <array>
#include <optional>

namespace triax::jinja {
namespace {

using Kind = Expression::Kind;

constexpr int deepest = 100;  // nested expressions

ExpressionPtr make(Kind kind, std::size_t at, std::vector<ExpressionPtr> parts = {}) {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->at = at;
  for (ExpressionPtr& part : parts) made->adopt(std::move(part));
  return made;
}

ExpressionPtr make(Kind kind, std::size_t at, ExpressionPtr first, ExpressionPtr second) {
  auto made = make(kind, at);
  made->adopt(std::move(first));
  if (second) made->adopt(std::move(second));
  return made;
}

ExpressionPtr operation(Operator op, std::size_t at, ExpressionPtr left, ExpressionPtr right) {
  auto made = make(Kind::operation, at, std::move(left), std::move(right));
  made->op = op;
  return made;
}

struct OperatorRow {
  const char* symbol;
  Operator op;
};
constexpr std::array<OperatorRow, 2> sums = {{{"+", Operator::add}, {"-", Operator::subtract}}};
constexpr std::array<OperatorRow, 4> products = {{{"*", Operator::multiply},
                                                  {"/", Operator::divide},
                                                  {"//", Operator::floor_divide},
                                                  {"%", Operator::modulo}}};

template <class Table>
std::optional<Operator> operator_at(const TokenStream& tokens, const Table& table) {
  for (const OperatorRow& row : table)
    if (tokens.is_symbol(row.symbol)) return row.op;
  return {};
}

}  // namespace

ExpressionPtr ExpressionParser::parse() {
  if (++depth_ > deepest)
    throw tokens_.error(tokens_.now().at, "the expression is nested too deeply");
  ExpressionPtr value = parse_either();
  while (tokens_.is_name("if")) {
    const std::size_t at = tokens_.next().at;
    ExpressionPtr condition = parse_either();
    ExpressionPtr otherwise = tokens_.skip_name("else") ? parse() : nullptr;
    ExpressionPtr made = make(Kind::conditional, at, std::move(condition), std::move(value));
    made->adopt(std::move(otherwise));
    value = std::move(made);
  }
  --depth_;
  return value;
}

ExpressionPtr ExpressionParser::parse_plain() {
  return parse_either();
}

ExpressionPtr ExpressionParser::parse_either() {
  ExpressionPtr left = parse_both();
  while (tokens_.is_name("or")) {
    const std::size_t at = tokens_.next().at;
    left = make(Kind::either, at, std::move(left), parse_both());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_both() {
  ExpressionPtr left = parse_not();
  while (tokens_.is_name("and")) {
    const std::size_t at = tokens_.next().at;
    left = make(Kind::both, at, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_comparison();
  if (++depth_ > deepest)
    throw tokens_.error(tokens_.now().at, "the expression is nested too deeply");
  const std::size_t at = tokens_.next().at;
  ExpressionPtr made = make(Kind::negation, at, parse_not(), nullptr);
  --depth_;
  return made;
}

bool ExpressionParser::parse_comparison_operator(Comparison& found) {
  struct Row {
    const char* symbol;
    Comparison comparison;
  };
  static constexpr std::array<Row, 6> rows = {{{"==", Comparison::equal},
                                               {"!=", Comparison::not_equal},
                                               {"<", Comparison::less},
                                               {"<=", Comparison::less_equal},
                                               {">", Comparison::greater},
                                               {">=", Comparison::greater_equal}}};
  for (const Row& row : rows)
    if (tokens_.skip_symbol(row.symbol)) {
      found = row.comparison;
      return true;
    }
  if (tokens_.skip_name("in")) {
    found = Comparison::in;
    return true;
  }
  if (!tokens_.is_name("not") || tokens_.ahead().kind != Token::Kind::name ||
      tokens_.ahead().text != "in")
    return false;
  tokens_.next();
  tokens_.next();
  found = Comparison::not_in;
  return true;
}

ExpressionPtr ExpressionParser::parse_comparison() {
  const std::size_t begin = tokens_.now().at;
  ExpressionPtr left = parse_sum();
  Comparison comparison{};
  std::size_t at = tokens_.now().at;
  if (!parse_comparison_operator(comparison)) return left;
  ExpressionPtr made = make(Kind::comparison, begin);
  made->adopt(std::move(left));
  do {
    made->at = at;
    made->comparisons.push_back(comparison);
    made->adopt(parse_sum());
    at = tokens_.now().at;
  } while (parse_comparison_operator(comparison));
  return made;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concat();
  while (const auto op = operator_at(tokens_, sums)) {
    const std::size_t at = tokens_.next().at;
    left = operation(*op, at, std::move(left), parse_concat());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr left = parse_product();
  if (!tokens_.is_symbol("~")) return left;
  ExpressionPtr made = make(Kind::concat, tokens_.now().at);
  made->adopt(std::move(left));
  while (tokens_.skip_symbol("~")) made->adopt(parse_product());
  return made;
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (const auto op = operator_at(tokens_, products)) {
    const std::size_t at = tokens_.next().at;
    left = operation(*op, at, std::move(left), parse_power());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (tokens_.is_symbol("**")) {
    const std::size_t at = tokens_.next().at;
    left = operation(Operator::power, at, std::move(left), parse_unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPtr value;
  if (tokens_.is_symbol("-") || tokens_.is_symbol("+")) {
    if (++depth_ > deepest)
      throw tokens_.error(tokens_.now().at, "the expression is nested too deeply");
    const Token sign = tokens_.next();
    value = make(sign.text == "-" ? Kind::minus : Kind::plus, sign.at, parse_unary(false), nullptr);
    --depth_;
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filters ? parse_filters(std::move(value)) : std::move(value);
}

bool ExpressionParser::tuple_ends() const {
  return tokens_.is(Token::Kind::print_end) || tokens_.is(Token::Kind::block_end) ||
         tokens_.is_symbol(")") || tokens_.is_name("recursive");
}

ExpressionPtr ExpressionParser::parse_tuple(bool plain) {
  const std::size_t at = tokens_.now().at;
  std::vector<ExpressionPtr> parts;
  bool tuple = false;
  while (!tuple_ends()) {
    parts.push_back(plain ? parse_plain() : parse());
    if (!tokens_.skip_symbol(",")) break;
    tuple = true;
  }
  if (tuple) return make(Kind::tuple, at, std::move(parts));
  if (parts.empty()) throw tokens_.unexpected("an expression");
  return std::move(parts.front());
}

}  // namespace triax::jinja

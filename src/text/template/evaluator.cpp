// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/evaluator.hpp"

#include <fmt/format.h>

#include "src/text/template/builtin/checks.hpp"
#include "src/text/template/builtin/globals.hpp"
#include "src/text/template/builtin/methods.hpp"
#include "src/text/template/filters/filters.hpp"
#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/print.hpp"

namespace triax::jinja {
namespace {

using Kind = Expression::Kind;

constexpr int deepest = 1000;  // nested expressions and blocks
constexpr std::size_t bytes_a_step = 64, items_a_step = 4;

// Whether an expression of this kind copies the items of a list.
bool makes_lists(Kind kind) {
  return kind == Kind::operation || kind == Kind::slice || kind == Kind::call;
}

bool holds(Comparison comparison, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b})
    if (value->is_undefined() && comparison >= Comparison::less &&
        comparison <= Comparison::greater_equal)
      throw Fault(value->undefined_reason());
  switch (comparison) {
    case Comparison::equal:
      return equal(a, b);
    case Comparison::not_equal:
      return !equal(a, b);
    case Comparison::less:
      return less(a, b);
    case Comparison::less_equal:
      return less(a, b) || equal(a, b);
    case Comparison::greater:
      return less(b, a);
    case Comparison::greater_equal:
      return less(b, a) || equal(a, b);
    case Comparison::in:
      return contains(b, a);
    case Comparison::not_in:
      return !contains(b, a);
  }
  return false;
}

}  // namespace

Evaluator::Level::Level(Evaluator& evaluator) : evaluator_(evaluator) {
  if (++evaluator.depth_ <= deepest) return;
  --evaluator.depth_;
  throw Fault("macros, blocks or expressions are nested too deeply");
}

void Evaluator::charge(std::size_t steps) {
  steps_ += steps;
  if (steps_ > most_steps)
    throw Fault(fmt::format("the template does not end within {} steps", most_steps));
}

Value Evaluator::filter(const std::string& name, const Arguments& arguments) {
  charge(1);
  return apply_filter(*this, name, arguments);
}

bool Evaluator::check(const std::string& name, const Arguments& arguments) {
  charge(1);
  return apply_check(name, arguments);
}

Value Evaluator::evaluate(const Expression& expression) {
  const Level level(*this);
  charge(1);
  Value value = evaluate_kind(expression);
  if (value.is_text() && expression.kind != Kind::constant)
    charge(value.text().size() / bytes_a_step);
  if (value.is(Value::Kind::sequence) && makes_lists(expression.kind))
    charge(value.items().size() / items_a_step);
  return value;
}

Value Evaluator::part(const Expression& expression, std::size_t i) {
  Value value = evaluate(*expression.parts[i]);
  at_ = expression.at;
  return value;
}

Value Evaluator::evaluate_kind(const Expression& e) {
  switch (e.kind) {
    case Kind::constant:
      return e.value;
    case Kind::name:
      return evaluate_name(e.name);
    case Kind::list:
      return Value::list(evaluate_parts(e));
    case Kind::tuple:
      return Value::tuple(evaluate_parts(e));
    case Kind::dict:
      return evaluate_dict(e);
    case Kind::attribute:
      return attribute_of(part(e, 0), e.name);
    case Kind::subscript: {
      const Value container = part(e, 0);
      return item_of(container, part(e, 1));
    }
    case Kind::slice:
      return evaluate_slice(e);
    case Kind::call: {
      const Value function = part(e, 0);
      const Arguments arguments = evaluate(e.arguments);
      at_ = e.at;
      return call(function, arguments);
    }
    case Kind::filter:
      return evaluate_filter(e, part(e, 0));
    case Kind::test: {
      Arguments arguments = evaluate(e.arguments);
      arguments.positional.insert(arguments.positional.begin(), part(e, 0));
      return Value::of(check(e.name, arguments));
    }
    case Kind::minus:
      return negated(part(e, 0));
    case Kind::plus:
      return made_positive(part(e, 0));
    case Kind::negation:
      return Value::of(!part(e, 0).truth());
    case Kind::operation: {
      const Value left = part(e, 0);
      return apply(e.op, left, part(e, 1));
    }
    case Kind::concat:
      return evaluate_concat(e);
    case Kind::comparison:
      return evaluate_comparison(e);
    case Kind::both: {
      Value left = part(e, 0);
      return left.truth() ? part(e, 1) : left;
    }
    case Kind::either: {
      Value left = part(e, 0);
      return left.truth() ? left : part(e, 1);
    }
    case Kind::conditional:
      if (part(e, 0).truth()) return part(e, 1);
      return e.parts[2] ? part(e, 2) : Value::undefined("the inline if has no else");
  }
  return {};
}

Value Evaluator::evaluate_name(const std::string& name) {
  if (const Value* const found = scopes_.find(name); found != nullptr) return *found;
  if (const Value* const found = variables_.find(name); found != nullptr) return *found;
  Value function = global_function(name);
  return function.is_undefined() ? Value::undefined(fmt::format("'{}' is undefined", name))
                                 : function;
}

List Evaluator::evaluate_parts(const Expression& expression) {
  List items;
  for (const ExpressionPtr& item : expression.parts) items.push_back(evaluate(*item));
  return items;
}

Value Evaluator::evaluate_dict(const Expression& expression) {
  Dict dict;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    Value key = part(expression, i);
    dict.set(std::move(key), part(expression, i + 1));
  }
  return Value::of(std::move(dict));
}

Arguments Evaluator::evaluate(const CallArguments& arguments) {
  Arguments values;
  for (const ExpressionPtr& argument : arguments.positional)
    values.positional.push_back(evaluate(*argument));
  for (const auto& [name, argument] : arguments.named)
    values.named.emplace_back(name, evaluate(*argument));
  if (arguments.more)
    for (Value& item : items_of(evaluate(*arguments.more)))
      values.positional.push_back(std::move(item));
  if (!arguments.more_named) return values;
  const Value named = evaluate(*arguments.more_named);
  if (!named.is(Value::Kind::dict)) throw Fault("** of " + named.type_name());
  for (const auto& [name, value] : named.dict().entries())
    values.named.emplace_back(print(name), value);
  return values;
}

Value Evaluator::call(const Value& function, const Arguments& arguments) {
  if (function.is_undefined()) throw Fault(function.undefined_reason());
  if (!function.is(Value::Kind::function)) throw Fault(function.type_name() + " cannot be called");
  return function.function()->body(*this, arguments);
}

Value Evaluator::evaluate_filter(const Expression& expression, const Value& input) {
  Arguments arguments = evaluate(expression.arguments);
  arguments.positional.insert(arguments.positional.begin(), input);
  at_ = expression.at;
  return filter(expression.name, arguments);
}

Value Evaluator::filtered(const Expression& chain, const Value& input) {
  return evaluate_filter(chain, chain.parts[0] ? filtered(*chain.parts[0], input) : input);
}

Value Evaluator::evaluate_concat(const Expression& expression) {
  std::string text;
  for (std::size_t i = 0; i < expression.parts.size(); ++i) {
    text += print(part(expression, i));
    if (text.size() > largest_result) throw Fault("the text is too long");
  }
  return Value::of(std::move(text));
}

Value Evaluator::evaluate_comparison(const Expression& expression) {
  Value left = part(expression, 0);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = part(expression, i + 1);
    if (expression.comparisons[i] >= Comparison::in && right.is(Value::Kind::sequence))
      charge(right.items().size() / items_a_step);
    if (!holds(expression.comparisons[i], left, right)) return Value::of(false);
    left = std::move(right);
  }
  return Value::of(true);
}

Value Evaluator::evaluate_slice(const Expression& expression) {
  List values(4, Value::none());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (expression.parts[i]) values[i] = part(expression, i);
  return slice(values[0], values[1], values[2], values[3]);
}

}  // namespace triax::jinja

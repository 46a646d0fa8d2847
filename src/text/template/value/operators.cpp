// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/base/html_text.hpp"
#include "src/text/template/value/characters.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

Fault no_operator(Operator op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b})
    if (value->is_undefined()) return Fault(value->undefined_reason());
  return Fault(fmt::format("{} of {} and {}", spelling(op), a.type_name(), b.type_name()));
}

void check_size(std::size_t size, std::size_t most) {
  if (size > most)
    throw Fault(fmt::format("a text or list of {} items is too long; the most is {}", size, most));
}

Value overflow(Operator op) {
  throw Fault(fmt::format("the result of {} does not fit in 64 bits", spelling(op)));
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0)
    return Value::of(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (base == 0 || base == 1) return Value::of(base);
    if (base == -1) return Value::of(std::int64_t{exponent % 2 == 0 ? 1 : -1} * result);
    if (__builtin_mul_overflow(result, base, &result)) return overflow(Operator::power);
  }
  return Value::of(result);
}

Value apply_integers(Operator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Operator::add:
      return __builtin_add_overflow(a, b, &result) ? overflow(op) : Value::of(result);
    case Operator::subtract:
      return __builtin_sub_overflow(a, b, &result) ? overflow(op) : Value::of(result);
    case Operator::multiply:
      return __builtin_mul_overflow(a, b, &result) ? overflow(op) : Value::of(result);
    case Operator::power:
      return integer_power(a, b);
    default:
      break;
  }
  if (b == 0) throw Fault("division by zero");
  if (op == Operator::divide) return Value::of(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1)  // the least integer has no positive counterpart
    return op == Operator::modulo ? Value::of(std::int64_t{0}) : negated(Value::of(a));
  const std::int64_t quotient = floor_quotient(a, b);
  return Value::of(op == Operator::floor_divide ? quotient : a - quotient * b);
}

// Python's float modulo: the sign of the divisor.
double float_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

Value apply_floats(Operator op, double a, double b) {
  if (b == 0 && (op == Operator::divide || op == Operator::floor_divide || op == Operator::modulo))
    throw Fault("division by zero");
  switch (op) {
    case Operator::add:
      return Value::of(a + b);
    case Operator::subtract:
      return Value::of(a - b);
    case Operator::multiply:
      return Value::of(a * b);
    case Operator::divide:
      return Value::of(a / b);
    case Operator::floor_divide:
      return Value::of(std::floor((a - float_modulo(a, b)) / b + 0.5));
    case Operator::modulo:
      return Value::of(float_modulo(a, b));
    case Operator::power:
      return Value::of(std::pow(a, b));
  }
  return {};
}

Value add_texts(const Value& a, const Value& b) {
  check_size(a.text().size() + b.text().size(), largest_result);
  if (a.is_safe() == b.is_safe()) return Value::of(a.text() + b.text(), a.is_safe());
  return a.is_safe() ? Value::of(a.text() + html_escaped(b.text()), true)
                     : Value::of(html_escaped(a.text()) + b.text(), true);
}

Value add_lists(const Value& a, const Value& b) {
  check_size(a.items().size() + b.items().size(), longest_list);
  List items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return a.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeated(const Value& value, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  const std::size_t size = value.is_text() ? value.text().size() : value.items().size();
  const std::size_t most = value.is_text() ? largest_result : longest_list;
  if (size > 0) check_size(count > most ? count : size * count, most);
  if (value.is_text()) {
    std::string text;
    for (std::size_t i = 0; size > 0 && i < count; ++i) text += value.text();
    return Value::of(std::move(text), value.is_safe());
  }
  List items;
  for (std::size_t i = 0; size > 0 && i < count; ++i)
    items.insert(items.end(), value.items().begin(), value.items().end());
  return value.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

// Texts, lists and tuples; Python has neither items nor + and * for views of a dict.
bool has_places(const Value& value) {
  return value.is_text() || value.is_list() || value.is_tuple();
}

std::optional<std::int64_t> bound(const Value& value) {
  if (value.is(Kind::none)) return {};
  if (value.is_undefined()) throw Fault(value.undefined_reason());
  if (!value.is_integral()) throw Fault("a bound of a slice is " + value.type_name());
  return value.integer();
}

struct Range {
  std::int64_t from, to, step;
};

// slice.indices() of Python.
Range resolved(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t step,
               std::int64_t length) {
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? length : length - 1;
  const auto clamped = [&](std::optional<std::int64_t> value, std::int64_t otherwise) {
    if (!value) return otherwise;
    return std::clamp(*value < 0 ? *value + length : *value, low, high);
  };
  return {clamped(from, step > 0 ? low : high), clamped(to, step > 0 ? high : low), step};
}

List picked(const List& items, const Range& range) {
  List result;
  const auto last = static_cast<std::int64_t>(items.size());
  for (std::int64_t i = range.from; range.step > 0 ? i < range.to : i > range.to; i += range.step) {
    result.push_back(items[static_cast<std::size_t>(i)]);
    if (range.step > last || range.step < -last) break;
  }
  return result;
}

Value text_slice(const Value& value, const Range& range) {
  const std::string& text = value.text();
  if (range.step == 1) {
    const std::size_t from = byte_of(text, range.from);
    const std::size_t to = byte_of(text, std::max(range.from, range.to));
    return Value::of(text.substr(from, to - from), value.is_safe());
  }
  std::string out;
  for (const Value& character : picked(characters_of(text), range)) out += character.text();
  return Value::of(std::move(out), value.is_safe());
}

}  // namespace

const char* spelling(Operator op) {
  static constexpr std::array names = {"+", "-", "*", "/", "//", "%", "**"};
  return names[static_cast<std::size_t>(op)];
}

Value apply(Operator op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return apply_integers(op, a.integer(), b.integer());
  if (a.is_numeric() && b.is_numeric()) return apply_floats(op, a.number(), b.number());
  if (op == Operator::add && a.is_text() && b.is_text()) return add_texts(a, b);
  if (op == Operator::add && ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())))
    return add_lists(a, b);
  if (op == Operator::multiply && has_places(a) && b.is_integral()) return repeated(a, b.integer());
  if (op == Operator::multiply && a.is_integral() && has_places(b)) return repeated(b, a.integer());
  if (op == Operator::modulo && a.is_text())
    throw Fault("% with a string on its left is not supported; join texts with ~");
  throw no_operator(op, a, b);
}

Value negated(const Value& value) {
  if (value.is_integral()) return apply_integers(Operator::subtract, 0, value.integer());
  if (value.is_numeric()) return Value::of(-value.number());
  throw Fault("- of " + value.type_name());
}

Value made_positive(const Value& value) {
  if (value.is_integral()) return Value::of(value.integer());
  if (value.is_numeric()) return value;
  throw Fault("+ of " + value.type_name());
}

std::int64_t length_of_value(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::text:
      return length_of(value.text());
    case Kind::sequence:
      return static_cast<std::int64_t>(value.items().size());
    case Kind::dict:
      return static_cast<std::int64_t>(value.dict().size());
    default:
      throw Fault(value.type_name() + " has no length");
  }
}

Value subscript(const Value& container, const Value& key) {
  if (container.is_undefined()) throw Fault(container.undefined_reason());
  if (container.is(Kind::dict)) {
    if (key.is_list() || key.is(Kind::dict)) return Value::undefined("the dict has no such key");
    const Value* const found = container.dict().find(key);
    if (found != nullptr) return *found;
    return Value::undefined(key.is_text() ? fmt::format("the dict has no key '{}'", key.text())
                                          : "the dict has no such key");
  }
  if (!has_places(container) || !key.is_integral())
    return Value::undefined(container.type_name() + " has no such item");
  const std::int64_t length = length_of_value(container);
  const std::int64_t index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length)
    return Value::undefined(
        fmt::format("{} of {} items has no item {}", container.type_name(), length, key.integer()));
  if (container.is_text()) return text_slice(container, {index, index + 1, 1});
  return container.items()[static_cast<std::size_t>(index)];
}

Value slice(const Value& container, const Value& from, const Value& to, const Value& step) {
  if (container.is_undefined()) throw Fault(container.undefined_reason());
  if (!has_places(container)) throw Fault(container.type_name() + " has no slices");
  const std::int64_t stride = bound(step).value_or(1);
  if (stride == 0) throw Fault("the step of a slice is 0");
  const Range range = resolved(bound(from), bound(to), stride, length_of_value(container));
  if (container.is_text()) return text_slice(container, range);
  List items = picked(container.items(), range);
  return container.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

}  // namespace triax::jinja

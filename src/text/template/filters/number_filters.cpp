// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/filters/number_filters.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/operators.hpp"

namespace triax::jinja {
namespace {

// Number of a whole text with blanks around it; nothing if it is none.
template <class Number>
std::optional<Number> parsed(const std::string& text) {
  std::string_view digits = strip_right(strip_left(text, nullptr), nullptr);
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  Number number{};
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || error != std::errc{} || at != end) return {};
  return number;
}

std::optional<std::int64_t> truncated(double number) {
  if (!(std::abs(number) < 9.2e18)) return {};
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> integer_of(const Value& value) {
  if (value.is_integral()) return value.integer();
  if (value.is_numeric()) return truncated(value.number());
  if (!value.is_text()) return {};
  if (const auto whole = parsed<std::int64_t>(value.text())) return whole;
  const auto number = parsed<double>(value.text());
  return number ? truncated(*number) : std::nullopt;
}

}  // namespace

Value filter_int(Host&, const Arguments& arguments) {
  const Parameters given("int", arguments, {"value", "default"}, 1);
  if (given[0].is_undefined()) throw Fault(given[0].undefined_reason());
  if (const auto number = integer_of(given[0])) return Value::of(*number);
  return given.given(1) ? given[1] : Value::of(std::int64_t{0});
}

Value filter_float(Host&, const Arguments& arguments) {
  const Parameters given("float", arguments, {"value", "default"}, 1);
  if (given[0].is_undefined()) throw Fault(given[0].undefined_reason());
  if (given[0].is_numeric()) return Value::of(given[0].number());
  const auto number = given[0].is_text() ? parsed<double>(given[0].text()) : std::nullopt;
  if (number) return Value::of(*number);
  return given.given(1) ? given[1] : Value::of(0.0);
}

Value filter_abs(Host&, const Arguments& arguments) {
  const Parameters given("abs", arguments, {"x"}, 1);
  if (given[0].is_integral())
    return given[0].integer() < 0 ? negated(given[0]) : Value::of(given[0].integer());
  if (given[0].is_numeric()) return Value::of(std::abs(given[0].number()));
  throw Fault("abs of " + given[0].type_name());
}

// Python rounds halves of the decimal value to even.
Value filter_round(Host&, const Arguments& arguments) {
  const Parameters given("round", arguments, {"value", "precision", "method"}, 1);
  const std::string method = given.given(2) ? given.text(2) : "common";
  if (!given[0].is_numeric()) throw Fault("round of " + given[0].type_name());
  if (method != "common" && method != "ceil" && method != "floor")
    throw Fault("the method of round is common, ceil or floor");
  const std::int64_t digits = given.integer(1, 0);
  if (digits < 0 || digits > 15) throw Fault("round: the precision must be 0 to 15");
  if (given[0].is_integral() && method == "common") return Value::of(given[0].integer());
  const double number = given[0].number(), scale = std::pow(10.0, static_cast<double>(digits));
  if (method == "ceil") return Value::of(std::ceil(number * scale) / scale);
  if (method == "floor") return Value::of(std::floor(number * scale) / scale);
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed, static_cast<int>(digits));
  double rounded = 0;
  std::from_chars(text.data(), end.ptr, rounded);
  return Value::of(rounded);
}

}  // namespace triax::jinja

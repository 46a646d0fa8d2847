// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/filters/text_filters.hpp"

#include <algorithm>

#include "kernels/base/html_text.hpp"
#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/builtin/text_methods.hpp"
#include "src/text/template/builtin/text_splits.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/operators.hpp"
#include "src/text/template/value/print.hpp"
#include "src/text/template/value/to_json.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

// soft_str(): safe texts stay so.
Value as_text(const Value& value) {
  return value.is_text() ? value : Value::of(print(value));
}

Value changed(const char* name, const Arguments& arguments,
              std::string (*change)(std::string_view)) {
  const Parameters given(name, arguments, {"value"}, 1);
  const Value text = as_text(given[0]);
  return Value::of(change(text.text()), text.is_safe());
}

std::string indentation(const Value& width) {
  if (width.is_text()) return width.text();
  if (!width.is_integral()) throw Fault("an indentation is " + width.type_name());
  const auto blanks =
      std::clamp<std::int64_t>(width.integer(), 0, static_cast<std::int64_t>(largest_result));
  return std::string(static_cast<std::size_t>(blanks), ' ');
}

}  // namespace

Value filter_upper(Host&, const Arguments& arguments) {
  return changed("upper", arguments, upper);
}

Value filter_lower(Host&, const Arguments& arguments) {
  return changed("lower", arguments, lower);
}

Value filter_capitalize(Host&, const Arguments& arguments) {
  return changed("capitalize", arguments, capitalize);
}

Value filter_title(Host&, const Arguments& arguments) {
  return Value::of(changed("title", arguments, title_filter).text());
}

Value filter_trim(Host&, const Arguments& arguments) {
  const Parameters given("trim", arguments, {"value", "chars"}, 1);
  const Value text = as_text(given[0]);
  const bool blanks = !given.given(1) || given[1].is(Kind::none);
  const std::string* const characters = blanks ? nullptr : &given.text(1);
  const std::string_view stripped = strip_right(strip_left(text.text(), characters), characters);
  return Value::of(std::string(stripped), text.is_safe());
}

Value filter_string(Host&, const Arguments& arguments) {
  const Parameters given("string", arguments, {"object"}, 1);
  return as_text(given[0]);
}

Value filter_safe(Host&, const Arguments& arguments) {
  const Parameters given("safe", arguments, {"value"}, 1);
  return Value::of(print(given[0]), true);
}

Value filter_escape(Host&, const Arguments& arguments) {
  const Parameters given("escape", arguments, {"value"}, 1);
  return given[0].is_safe() ? given[0] : Value::of(html_escaped(print(given[0])), true);
}

Value filter_replace(Host&, const Arguments& arguments) {
  const Parameters given("replace", arguments, {"s", "old", "new", "count"}, 3);
  const std::int64_t count = given[3].is(Kind::none) ? -1 : given.integer(3, -1);
  return Value::of(replaced(print(given[0]), print(given[1]), print(given[2]), count));
}

Value filter_default(Host&, const Arguments& arguments) {
  const Parameters given("default", arguments, {"value", "default_value", "boolean"}, 1);
  const bool missing = given[0].is_undefined() || (given.flag(2, false) && !given[0].truth());
  if (!missing) return given[0];
  return given.given(1) ? given[1] : Value::of(std::string());
}

Value filter_indent(Host&, const Arguments& arguments) {
  const Parameters given("indent", arguments, {"s", "width", "first", "blank"}, 1);
  const std::string margin = given.given(1) ? indentation(given[1]) : "    ";
  const std::string text = given.text(0) + "\n";
  std::string out;
  bool first = true;
  for (const std::string_view line : text_lines(text, false)) {
    if (!first) out += '\n';
    if (first ? given.flag(2, false) : given.flag(3, false) || !line.empty()) out += margin;
    out += line;
    first = false;
    if (out.size() > largest_result) throw Fault("the indented text is too long");
  }
  return Value::of(std::move(out), given[0].is_safe());
}

Value filter_tojson(Host& host, const Arguments& arguments) {
  const Parameters given("tojson", arguments,
                         {"x", "ensure_ascii", "indent", "separators", "sort_keys"}, 1);
  JsonStyle style;
  style.ascii = given.flag(1, false);
  style.sorted = given.flag(4, false);
  if (given.given(2) && !given[2].is(Kind::none)) {
    style.lines = true;
    style.between = std::string(1, ',');
    style.indent = indentation(given[2]);
  }
  if (given.given(3) && !given[3].is(Kind::none)) {
    const List pair = items_of(given[3]);
    if (pair.size() != 2 || !pair[0].is_text() || !pair[1].is_text())
      throw Fault("separators of tojson must be two strings");
    style.between = pair[0].text();
    style.key = pair[1].text();
  }
  std::string text = to_json(given[0], style);
  host.charge(text.size() / 16);
  return Value::of(std::move(text));
}

}  // namespace triax::jinja

// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/operators.hpp"
#include "src/text/template/value/print.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;
using Check = bool (*)(const Value& value);
using Check2 = bool (*)(const Value& value, const Value& other);

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_text() || value.is(Kind::sequence) ||
         value.is(Kind::dict) || value.is(Kind::iterator);
}

bool is_same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::boolean) || a.is(Kind::none) || a.is(Kind::integer) || a.is_text())
    return equal(a, b);
  if (a.is(Kind::sequence)) return &a.items() == &b.items();
  if (a.is(Kind::dict)) return &a.dict() == &b.dict();
  return a.is(Kind::object) && a.object() == b.object();
}

bool is_cased(const Value& value, std::string (*change)(std::string_view)) {
  const std::string text = print(value);
  return upper(text) != lower(text) && change(text) == text;
}

bool is_divisible(const Value& value, const Value& by) {
  return equal(apply(Operator::modulo, value, by), Value::of(std::int64_t{0}));
}

bool rest_of_two(const Value& value, std::int64_t rest) {
  return equal(apply(Operator::modulo, value, Value::of(std::int64_t{2})), Value::of(rest));
}

template <class Function>
struct Row {
  const char* name;
  Function check;
};

constexpr std::array<Row<Check>, 18> checks = {
    {{"defined", [](const Value& v) { return !v.is_undefined(); }},
     {"undefined", [](const Value& v) { return v.is_undefined(); }},
     {"none", [](const Value& v) { return v.is(Kind::none); }},
     {"boolean", [](const Value& v) { return v.is(Kind::boolean); }},
     {"true", [](const Value& v) { return v.is(Kind::boolean) && v.truth(); }},
     {"false", [](const Value& v) { return v.is(Kind::boolean) && !v.truth(); }},
     {"string", [](const Value& v) { return v.is_text(); }},
     {"number", [](const Value& v) { return v.is_numeric(); }},
     {"integer", [](const Value& v) { return v.is(Kind::integer); }},
     {"float", [](const Value& v) { return v.is(Kind::number); }},
     {"mapping", [](const Value& v) { return v.is(Kind::dict); }},
     {"sequence",
      [](const Value& v) {
        return is_iterable(v) && !v.is(Kind::iterator) && v.view_name() == nullptr;
      }},
     {"iterable", is_iterable},
     {"callable", [](const Value& v) { return v.is(Kind::function) || v.is_undefined(); }},
     {"odd", [](const Value& v) { return rest_of_two(v, 1); }},
     {"even", [](const Value& v) { return rest_of_two(v, 0); }},
     {"upper", [](const Value& v) { return is_cased(v, upper); }},
     {"lower", [](const Value& v) { return is_cased(v, lower); }}}};

constexpr std::array<Row<Check2>, 18> checks_of_two = {
    {{"equalto", equal},
     {"eq", equal},
     {"==", equal},
     {"ne", [](const Value& a, const Value& b) { return !equal(a, b); }},
     {"!=", [](const Value& a, const Value& b) { return !equal(a, b); }},
     {"lt", less},
     {"lessthan", less},
     {"<", less},
     {"gt", [](const Value& a, const Value& b) { return less(b, a); }},
     {"greaterthan", [](const Value& a, const Value& b) { return less(b, a); }},
     {">", [](const Value& a, const Value& b) { return less(b, a); }},
     {"le", [](const Value& a, const Value& b) { return less(a, b) || equal(a, b); }},
     {"<=", [](const Value& a, const Value& b) { return less(a, b) || equal(a, b); }},
     {"ge", [](const Value& a, const Value& b) { return less(b, a) || equal(a, b); }},
     {">=", [](const Value& a, const Value& b) { return less(b, a) || equal(a, b); }},
     {"in", [](const Value& item, const Value& in) { return contains(in, item); }},
     {"sameas", is_same},
     {"divisibleby", is_divisible}}};

}  // namespace

bool apply_check(const std::string& name, const Arguments& arguments) {
  for (const Row<Check>& row : checks)
    if (name == row.name) return row.check(Parameters(name, arguments, {"value"}, 1)[0]);
  for (const Row<Check2>& row : checks_of_two)
    if (name == row.name) {
      const Parameters given(name, arguments, {"value", "other"}, 2);
      return row.check(given[0], given[1]);
    }
  throw Fault(fmt::format("the test '{}' is not supported", name));
}

}  // namespace triax::jinja

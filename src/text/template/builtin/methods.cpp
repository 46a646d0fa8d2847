// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/builtin/text_methods.hpp"
#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/operators.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;
using Method = Value (*)(const Value& self, const Arguments& arguments);

Value dict_get(const Value& self, const Arguments& arguments) {
  const Parameters given("get", arguments, {"key", "default"}, 1);
  const Value* const found = self.dict().find(given[0]);
  if (found != nullptr) return *found;
  return given.given(1) ? given[1] : Value::none();
}

Value dict_items(const Value& self, const Arguments& arguments) {
  const Parameters given("items", arguments, {}, 0);
  List items;
  for (const auto& [key, value] : self.dict().entries())
    items.push_back(Value::tuple({key, value}));
  return Value::view("dict_items", std::move(items));
}

Value dict_keys(const Value& self, const Arguments& arguments) {
  const Parameters given("keys", arguments, {}, 0);
  return Value::view("dict_keys", items_of(self));
}

Value dict_values(const Value& self, const Arguments& arguments) {
  const Parameters given("values", arguments, {}, 0);
  List items;
  for (const auto& [key, value] : self.dict().entries()) items.push_back(value);
  return Value::view("dict_values", std::move(items));
}

Value copy(const Value& self, const Arguments& arguments) {
  const Parameters given("copy", arguments, {}, 0);
  return self;
}

Value list_index(const Value& self, const Arguments& arguments) {
  const Parameters given("index", arguments, {"value"}, 1);
  const List& items = self.items();
  const auto found =
      std::ranges::find_if(items, [&](const Value& item) { return equal(item, given[0]); });
  if (found == items.end()) throw Fault("index: the list does not have this value");
  return Value::of(static_cast<std::int64_t>(found - items.begin()));
}

Value list_count(const Value& self, const Arguments& arguments) {
  const Parameters given("count", arguments, {"value"}, 1);
  return Value::of(static_cast<std::int64_t>(std::ranges::count_if(
      self.items(), [&](const Value& item) { return equal(item, given[0]); })));
}

struct Row {
  const char* name;
  Method method;
};
constexpr std::array<Row, 5> dict_methods = {{{"get", dict_get},
                                              {"items", dict_items},
                                              {"keys", dict_keys},
                                              {"values", dict_values},
                                              {"copy", copy}}};
constexpr std::array<Row, 3> list_methods = {
    {{"index", list_index}, {"count", list_count}, {"copy", copy}}};
// Methods that the sandbox hides: Jinja has an undefined value for them.
constexpr std::array changes_dict = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array changes_list = {"append", "clear",  "extend",  "insert",
                                     "pop",    "remove", "reverse", "sort"};

template <class Table, class Names>
Value bound(const Table& table, const Names& changing, const Value& self, const std::string& name) {
  for (const Row& row : table)
    if (name == row.name)
      return Value::function(name, [self, method = row.method](Host&, const Arguments& arguments) {
        return method(self, arguments);
      });
  if (std::ranges::find(changing, std::string_view(name)) != changing.end())
    return Value::undefined(
        fmt::format("{} would change a value, which templates may not; use a namespace", name));
  return Value::undefined(fmt::format("{} has no attribute '{}'", self.type_name(), name));
}

}  // namespace

Value method_of(const Value& value, const std::string& name) {
  if (value.is(Kind::dict)) return bound(dict_methods, changes_dict, value, name);
  if (value.is_list() || value.is_tuple()) return bound(list_methods, changes_list, value, name);
  if (value.is_text()) return text_method(value, name);
  return Value::undefined(fmt::format("{} has no attribute '{}'", value.type_name(), name));
}

Value attribute_of(const Value& value, const std::string& name) {
  if (value.is_undefined()) throw Fault(value.undefined_reason());
  if (value.is(Kind::object)) return value.object()->attribute(name);
  if (value.is(Kind::dict)) {
    const bool method =
        std::ranges::any_of(dict_methods, [&](const Row& row) { return name == row.name; });
    const Value* const found = method ? nullptr : value.dict().find(name);
    if (found != nullptr) return *found;
    const bool changes =
        std::ranges::find(changes_dict, std::string_view(name)) != changes_dict.end();
    if (!method && !changes) return Value::undefined(fmt::format("the dict has no key '{}'", name));
  }
  return method_of(value, name);
}

Value item_of(const Value& value, const Value& key) {
  Value found = subscript(value, key);
  if (!found.is_undefined() || !key.is_text()) return found;
  if (value.is(Kind::object)) return value.object()->attribute(key.text());
  Value method = method_of(value, key.text());
  return method.is_undefined() ? found : method;
}

}  // namespace triax::jinja

// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/filters/select_filters.hpp"

#include <fmt/format.h>

#include "src/text/template/builtin/attribute_path.hpp"

namespace triax::jinja {
namespace {

// Jinja visits nothing in None, 0 and false.
List items_to_visit(Host& host, const Arguments& arguments) {
  if (arguments.positional.empty()) throw Fault("the filter has no value");
  if (!arguments.positional[0].truth()) return {};
  List items = items_of(arguments.positional[0]);
  host.charge(items.size());
  return items;
}

// Arguments for a call by name: the item in front, those behind the name at `name`.
Arguments forwarded(const Value& item, const Arguments& arguments, std::size_t name) {
  Arguments call{.positional = {item}, .named = arguments.named};
  const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(name) + 1;
  call.positional.insert(call.positional.end(), rest, arguments.positional.end());
  return call;
}

const std::string& name_at(const Arguments& arguments, std::size_t at) {
  if (!arguments.positional[at].is_text())
    throw Fault("the name of a filter or test must be a string");
  return arguments.positional[at].text();
}

// `by_attribute`: the test is of an attribute that the first argument names.
Value selected(Host& host, const Arguments& arguments, bool by_attribute, bool keeps) {
  const std::size_t name = by_attribute ? 2 : 1;
  if (arguments.positional.size() < name) throw Fault("the filter needs the name of an attribute");
  List kept;
  for (const Value& item : items_to_visit(host, arguments)) {
    const Value tested = by_attribute ? part_at(item, arguments.positional[1]) : item;
    const bool fits = arguments.positional.size() > name
                          ? host.check(name_at(arguments, name), forwarded(tested, arguments, name))
                          : tested.truth();
    if (fits == keeps) kept.push_back(item);
  }
  return Value::iterator(std::move(kept));
}

Value map_attribute(Host& host, const Arguments& arguments) {
  Value attribute, otherwise;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute")
      attribute = value;
    else if (name == "default")
      otherwise = value;
    else
      throw Fault(fmt::format("map has no parameter {}", name));
  }
  if (attribute.is_undefined()) throw Fault("map needs the name of a filter, or attribute=");
  List parts;
  for (const Value& item : items_to_visit(host, arguments)) {
    Value part = part_at(item, attribute);
    parts.push_back(part.is_undefined() ? otherwise : std::move(part));
  }
  return Value::iterator(std::move(parts));
}

}  // namespace

Value filter_map(Host& host, const Arguments& arguments) {
  if (arguments.positional.size() < 2) return map_attribute(host, arguments);
  List results;
  for (const Value& item : items_to_visit(host, arguments))
    results.push_back(host.filter(name_at(arguments, 1), forwarded(item, arguments, 1)));
  return Value::iterator(std::move(results));
}

Value filter_select(Host& host, const Arguments& arguments) {
  return selected(host, arguments, false, true);
}

Value filter_reject(Host& host, const Arguments& arguments) {
  return selected(host, arguments, false, false);
}

Value filter_selectattr(Host& host, const Arguments& arguments) {
  return selected(host, arguments, true, true);
}

Value filter_rejectattr(Host& host, const Arguments& arguments) {
  return selected(host, arguments, true, false);
}

}  // namespace triax::jinja

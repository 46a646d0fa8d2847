// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/attribute_path.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "src/text/template/builtin/methods.hpp"
#include "src/text/template/value/operators.hpp"

namespace triax::jinja {
namespace {

Value key_of(std::string_view part) {
  std::int64_t index = 0;
  const char* const end = part.data() + part.size();
  const auto [at, error] = std::from_chars(part.data(), end, index);
  const bool number = !part.empty() && part[0] != '-' && error == std::errc{} && at == end;
  return number ? Value::of(index) : Value::of(std::string(part));
}

}  // namespace

Value part_at(const Value& item, const Value& path) {
  if (path.is(Value::Kind::none) || path.is_undefined()) return item;
  if (path.is_integral()) return item_of(item, path);
  if (!path.is_text()) throw Fault("the attribute of a filter is " + path.type_name());
  Value found = item;
  for (std::string_view rest = path.text();;) {
    const std::size_t dot = rest.find('.');
    found = item_of(found, key_of(rest.substr(0, dot)));
    if (dot == rest.npos) return found;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace triax::jinja

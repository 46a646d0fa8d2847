// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/text/template/value/nesting.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

bool equal_dicts(const Dict& a, const Dict& b) {
  return a.size() == b.size() && std::ranges::all_of(a.entries(), [&](const Dict::Entry& entry) {
           const Value* const other = b.find(entry.first);
           return other != nullptr && equal(entry.second, *other);
         });
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
  return a.number() == b.number();
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (a.is_numeric() && b.is_numeric()) return equal_numbers(a, b);
  const Nesting level;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::text:
      return a.text() == b.text();
    case Kind::sequence:
      return a.is_tuple() == b.is_tuple() && a.view_name() == b.view_name() &&
             std::ranges::equal(a.items(), b.items(), equal);
    case Kind::dict:
      return equal_dicts(a.dict(), b.dict());
    case Kind::iterator:
      return &a.iterator() == &b.iterator();
    case Kind::function:
      return a.function() == b.function();
    case Kind::object:
      return a.object() == b.object();
    default:
      return false;  // numbers: above
  }
}

bool less(const Value& a, const Value& b) {
  if (a.is_numeric() && b.is_numeric()) {
    if (a.is_integral() && b.is_integral()) return a.integer() < b.integer();
    return a.number() < b.number();
  }
  if (a.is_text() && b.is_text()) return a.text() < b.text();
  const Nesting level;
  if (a.is(Kind::sequence) && b.is(Kind::sequence) && a.is_tuple() == b.is_tuple()) {
    const auto [left, right] = std::ranges::mismatch(a.items(), b.items(), equal);
    if (left == a.items().end()) return right != b.items().end();
    return right != b.items().end() && less(*left, *right);
  }
  throw Fault(fmt::format("{} and {} have no order", a.type_name(), b.type_name()));
}

bool contains(const Value& container, const Value& item) {
  if (container.is_text()) {
    if (!item.is_text()) throw Fault(fmt::format("{} cannot be in a string", item.type_name()));
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.is(Kind::dict)) return container.dict().find(item) != nullptr;
  if (container.is(Kind::none) || container.is_numeric())
    throw Fault(fmt::format("nothing can be in {}", container.type_name()));
  const auto is_item = [&](const Value& other) { return equal(item, other); };
  if (container.is(Kind::sequence)) return std::ranges::any_of(container.items(), is_item);
  return std::ranges::any_of(items_of(container), is_item);
}

}  // namespace triax::jinja

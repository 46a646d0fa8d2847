// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/filters/sequence_filters.hpp"

#include <algorithm>

#include "src/text/template/builtin/attribute_path.hpp"
#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/operators.hpp"
#include "src/text/template/value/print.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

// Texts compare without case unless it is asked for.
Value folded(const Value& value, bool case_sensitive) {
  return value.is_text() && !case_sensitive ? Value::of(lower(value.text())) : value;
}

struct Keyed {
  Value key, item;
};

std::vector<Keyed> keyed(const List& items, const Value& attribute, bool case_sensitive) {
  std::vector<Keyed> all;
  for (const Value& item : items)
    all.push_back({folded(part_at(item, attribute), case_sensitive), item});
  return all;
}

// Python keeps the order of equal items, in reverse as well.
List sorted(std::vector<Keyed> all, bool reverse) {
  std::ranges::stable_sort(all, [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(b.key, a.key) : less(a.key, b.key);
  });
  List items;
  for (Keyed& entry : all) items.push_back(std::move(entry.item));
  return items;
}

List pairs_of(const Dict& dict) {
  List pairs;
  for (const auto& [key, value] : dict.entries()) pairs.push_back(Value::tuple({key, value}));
  return pairs;
}

Value extreme(const char* name, const Arguments& arguments, bool largest) {
  const Parameters given(name, arguments, {"value", "case_sensitive", "attribute"}, 1);
  const std::vector<Keyed> all = keyed(items_of(given[0]), given[2], given.flag(1, false));
  if (all.empty()) return Value::undefined("the sequence is empty");
  const auto before = [&](const Keyed& a, const Keyed& b) {
    return largest ? less(b.key, a.key) : less(a.key, b.key);
  };
  return std::ranges::min_element(all, before)->item;
}

}  // namespace

Value filter_length(Host&, const Arguments& arguments) {
  const Parameters given("length", arguments, {"obj"}, 1);
  return Value::of(length_of_value(given[0]));
}

Value filter_list(Host& host, const Arguments& arguments) {
  const Parameters given("list", arguments, {"value"}, 1);
  List items = items_of(given[0]);
  host.charge(items.size());
  return Value::list(std::move(items));
}

Value filter_items(Host&, const Arguments& arguments) {
  const Parameters given("items", arguments, {"value"}, 1);
  if (given[0].is_undefined()) return Value::iterator({});
  if (!given[0].is(Kind::dict))
    throw Fault("items of " + given[0].type_name() + ", which is no dict");
  return Value::iterator(pairs_of(given[0].dict()));
}

Value filter_join(Host& host, const Arguments& arguments) {
  const Parameters given("join", arguments, {"value", "d", "attribute"}, 1);
  const std::string between = given.given(1) ? print(given[1]) : "";
  std::string out;
  bool first = true;
  for (const Value& item : items_of(given[0])) {
    if (!first) out += between;
    out += print(part_at(item, given[2]));
    first = false;
    if (out.size() > largest_result) throw Fault("the joined text is too long");
  }
  host.charge(out.size() / 16);
  return Value::of(std::move(out));
}

Value filter_first(Host&, const Arguments& arguments) {
  const Parameters given("first", arguments, {"seq"}, 1);
  if (given[0].is(Kind::iterator)) {
    Iterator::State& state = given[0].iterator();
    if (state.next < state.items.size()) return state.items[state.next++];
    return Value::undefined("the sequence is empty");
  }
  const List items = items_of(given[0]);
  return items.empty() ? Value::undefined("the sequence is empty") : items.front();
}

Value filter_last(Host&, const Arguments& arguments) {
  const Parameters given("last", arguments, {"seq"}, 1);
  if (given[0].is(Kind::iterator))
    throw Fault("last of a generator; use the filter list before it");
  const List items = items_of(given[0]);
  return items.empty() ? Value::undefined("the sequence is empty") : items.back();
}

Value filter_reverse(Host&, const Arguments& arguments) {
  const Parameters given("reverse", arguments, {"value"}, 1);
  if (given[0].is_text())
    return slice(given[0], Value::none(), Value::none(), Value::of(std::int64_t{-1}));
  const List items = items_of(given[0]);
  return Value::iterator(List(items.rbegin(), items.rend()));
}

Value filter_sort(Host& host, const Arguments& arguments) {
  const Parameters given("sort", arguments, {"value", "reverse", "case_sensitive", "attribute"}, 1);
  const List items = items_of(given[0]);
  host.charge(items.size());
  return Value::list(sorted(keyed(items, given[3], given.flag(2, false)), given.flag(1, false)));
}

Value filter_dictsort(Host&, const Arguments& arguments) {
  const Parameters given("dictsort", arguments, {"value", "case_sensitive", "by", "reverse"}, 1);
  if (!given[0].is(Kind::dict)) throw Fault("dictsort of " + given[0].type_name());
  const std::string by = given.given(2) ? given.text(2) : "key";
  if (by != "key" && by != "value") throw Fault("dictsort sorts by 'key' or 'value'");
  const Value part = Value::of(std::int64_t{by == "key" ? 0 : 1});
  return Value::list(
      sorted(keyed(pairs_of(given[0].dict()), part, given.flag(1, false)), given.flag(3, false)));
}

Value filter_unique(Host& host, const Arguments& arguments) {
  const Parameters given("unique", arguments, {"value", "case_sensitive", "attribute"}, 1);
  List seen, unique;
  for (Keyed& entry : keyed(items_of(given[0]), given[2], given.flag(1, false))) {
    host.charge(seen.size());
    if (contains(Value::list(seen), entry.key)) continue;
    seen.push_back(std::move(entry.key));
    unique.push_back(std::move(entry.item));
  }
  return Value::iterator(std::move(unique));
}

Value filter_min(Host&, const Arguments& arguments) {
  return extreme("min", arguments, false);
}

Value filter_max(Host&, const Arguments& arguments) {
  return extreme("max", arguments, true);
}

Value filter_sum(Host&, const Arguments& arguments) {
  const Parameters given("sum", arguments, {"iterable", "attribute", "start"}, 1);
  Value total = given.given(2) ? given[2] : Value::of(std::int64_t{0});
  for (const Value& item : items_of(given[0]))
    total = apply(Operator::add, total, part_at(item, given[1]));
  return total;
}

}  // namespace triax::jinja

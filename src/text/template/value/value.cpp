// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/nesting.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;
using nlohmann::ordered_json;

// Python's hash() refuses the others.
void check_key(const Value& key) {
  if (key.is_list() || key.is(Kind::dict) || key.is(Kind::iterator))
    throw Fault(key.type_name() + " cannot be a key");
}

std::int64_t integer_of(const ordered_json& json) {
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Fault(fmt::format("{} does not fit in 64 bits with a sign", json.get<std::uint64_t>()));
  return json.get<std::int64_t>();
}

constexpr int deepest_release = 100;
thread_local int release_depth = 0;
thread_local std::vector<Value::Data>* waiting = nullptr;  // of the outermost destructor

}  // namespace

Value::~Value() {
  if (kind() < Kind::sequence) return;
  if (release_depth == deepest_release) {
    waiting->push_back(std::move(data_));
    return;
  }
  std::vector<Data> rest;
  if (release_depth++ == 0) waiting = &rest;
  data_ = Data();
  while (!rest.empty()) {
    const Data next = std::move(rest.back());
    rest.pop_back();
  }
  --release_depth;
}

Value Value::undefined(std::string why) {
  return {Data{Undefined{std::make_shared<const std::string>(std::move(why))}}};
}

Value Value::of(std::string text, bool safe) {
  return {Data{Text{std::make_shared<const std::string>(std::move(text)), safe}}};
}

Value Value::of(Dict dict) {
  return {Data{std::make_shared<const Dict>(std::move(dict))}};
}

Value Value::list(List items) {
  return {Data{Sequence{std::make_shared<const List>(std::move(items)), false, nullptr}}};
}

Value Value::tuple(List items) {
  return {Data{Sequence{std::make_shared<const List>(std::move(items)), true, nullptr}}};
}

Value Value::view(const char* name, List items) {
  return {Data{Sequence{std::make_shared<const List>(std::move(items)), false, name}}};
}

Value Value::iterator(List items) {
  return {Data{Iterator{std::make_shared<Iterator::State>(Iterator::State{std::move(items)})}}};
}

Value Value::function(std::string name, std::function<Value(Host&, const Arguments&)> body) {
  return {Data{std::make_shared<const Function>(Function{std::move(name), std::move(body)})}};
}

std::int64_t Value::integer() const {
  return is(Kind::boolean) ? std::int64_t{std::get<bool>(data_)} : std::get<std::int64_t>(data_);
}

double Value::number() const {
  return is_integral() ? static_cast<double>(integer()) : std::get<double>(data_);
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return std::get<bool>(data_);
    case Kind::integer:
      return std::get<std::int64_t>(data_) != 0;
    case Kind::number:
      return std::get<double>(data_) != 0;
    case Kind::text:
      return !text().empty();
    case Kind::sequence:
      return !items().empty();
    case Kind::dict:
      return dict().size() != 0;
    case Kind::iterator:
    case Kind::function:
    case Kind::object:
      break;
  }
  return true;
}

std::string Value::type_name() const {
  switch (kind()) {
    case Kind::undefined:
      return undefined_reason();
    case Kind::none:
      return "None";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a float";
    case Kind::text:
      return "a string";
    case Kind::sequence:
      return view_name() != nullptr ? view_name() : is_tuple() ? "a tuple" : "a list";
    case Kind::dict:
      return "a dict";
    case Kind::iterator:
      return "a generator";
    case Kind::function:
      return "the function " + function()->name;
    case Kind::object:
      return object()->type_name();
  }
  return {};
}

std::string Value::undefined_reason() const {
  const auto& why = std::get<Undefined>(data_).why;
  return why ? *why : "the value is undefined";
}

const Value* Dict::find(const Value& key) const {
  check_key(key);
  if (key.is_text()) return find(key.text());
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return equal(entry.first, key); });
  return found == entries_.end() ? nullptr : &found->second;
}

const Value* Dict::find(const std::string& key) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.first.is_text() && entry.first.text() == key;
  });
  return found == entries_.end() ? nullptr : &found->second;
}

void Dict::set(Value key, Value value) {
  if (const Value* const at = find(key); at != nullptr)
    *const_cast<Value*>(at) = std::move(value);  // NOLINT: an entry of this dict, which is no const
  else
    entries_.emplace_back(std::move(key), std::move(value));
}

void Dict::set(const std::string& key, Value value) {
  set(Value::of(key), std::move(value));
}

void Object::set_attribute(const std::string& name, Value) {
  throw Fault(fmt::format("attribute {} of {} cannot be set", name, type_name()));
}

Value from_json(const ordered_json& json) {
  const Nesting level;
  switch (json.type()) {
    case ordered_json::value_t::boolean:
      return Value::of(json.get<bool>());
    case ordered_json::value_t::number_integer:
    case ordered_json::value_t::number_unsigned:
      return Value::of(integer_of(json));
    case ordered_json::value_t::number_float:
      return Value::of(json.get<double>());
    case ordered_json::value_t::string:
      return Value::of(json.get<std::string>());
    case ordered_json::value_t::array: {
      List items;
      for (const ordered_json& item : json) items.push_back(from_json(item));
      return Value::list(std::move(items));
    }
    case ordered_json::value_t::object: {
      Dict dict;
      for (const auto& [key, value] : json.items()) dict.set(key, from_json(value));
      return Value::of(std::move(dict));
    }
    default:
      return Value::none();
  }
}

List items_of(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return {};
    case Kind::sequence:
      return value.items();
    case Kind::text:
      return characters_of(value.text());
    case Kind::dict: {
      List keys;
      for (const auto& [key, ignored] : value.dict().entries()) keys.push_back(key);
      return keys;
    }
    case Kind::iterator: {
      Iterator::State& state = value.iterator();
      List rest(state.items.begin() + static_cast<std::ptrdiff_t>(state.next), state.items.end());
      state.next = state.items.size();
      return rest;
    }
    default:
      throw Fault(value.type_name() + " cannot be looped over");
  }
}

}  // namespace triax::jinja

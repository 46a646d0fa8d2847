// SPDX-License-Identifier: Apache-2.0
// Functions that make a row of the key table.
#include <algorithm>
#include <utility>

#include "src/config/keys/key.hpp"

namespace triax {
using nlohmann::json;

Allowed one_of(std::vector<std::string> choices) {
  Allowed a;
  a.choices = std::move(choices);
  return a;
}
Allowed one_of_or_opening(std::vector<std::string> choices, std::string opening) {
  auto a = one_of(std::move(choices));
  a.opening = std::move(opening);
  return a;
}
Allowed one_of_any_case(std::vector<std::string> choices) {
  auto a = one_of(std::move(choices));
  a.ignore_case = true;
  return a;
}
Allowed at_least(double least) {
  Allowed a;
  a.least = least;
  return a;
}
Allowed above(double bound) {
  auto a = at_least(bound);
  a.open_least = true;
  return a;
}
Allowed from_to(double least, double most) {
  auto a = at_least(least);
  a.most = most;
  return a;
}
Allowed from_below(double least, double bound) {
  auto a = from_to(least, bound);
  a.open_most = true;
  return a;
}

Key&& Key::in(std::string name) && {
  unit = std::move(name);
  return std::move(*this);
}
Key&& Key::only(std::vector<std::string> types) && {
  scope = std::move(types);
  return std::move(*this);
}
Key&& Key::or_empty() && {
  may_be_empty = true;
  return std::move(*this);
}
Key&& Key::or_null() && {
  may_be_null = true;
  return std::move(*this);
}
Key&& Key::or_auto() && {
  automatic = true;
  return std::move(*this);
}
Key&& Key::or_fraction() && {
  fraction = true;
  return std::move(*this);
}
Key&& Key::or_words(std::vector<std::string> values) && {
  words = std::move(values);
  return std::move(*this);
}
Key&& Key::without(std::vector<json> values) && {
  not_built = std::move(values);
  return std::move(*this);
}
Key&& Key::or_names(std::vector<std::pair<std::string, std::string>> names) && {
  other_names = std::move(names);
  return std::move(*this);
}

Key obeyed(std::string path, KeyType type, json default_value, Allowed allowed,
           std::string meaning) {
  Key key;
  key.path = std::move(path);
  key.type = type;
  key.automatic = default_value == "auto";
  key.default_value = std::move(default_value);
  key.allowed = std::move(allowed);
  key.meaning = std::move(meaning);
  return key;
}

Key accepted(std::string path, KeyType type, json default_value, std::string meaning) {
  auto key = obeyed(std::move(path), type, std::move(default_value), {}, std::move(meaning));
  key.treatment = Treatment::accepted;
  key.automatic = true;
  return key;
}

Key refused(std::string path, KeyType type, json default_value, std::string meaning,
            std::string reason) {
  auto key = obeyed(std::move(path), type, std::move(default_value), {}, std::move(meaning));
  key.treatment = Treatment::refused;
  key.reason = std::move(reason);
  return key;
}

void add_for_type(std::vector<Key>& keys, Key key, const char* type) {
  const auto found = std::ranges::find_if(keys, [&](const Key& k) { return k.same_row(key); });
  if (found != keys.end()) {
    found->scope.emplace_back(type);
    return;
  }
  key.scope = {type};
  keys.push_back(std::move(key));
}

}  // namespace triax

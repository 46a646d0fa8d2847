// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/command_keys.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/config/keys/key_table.hpp"
#include "src/config/source/spelling.hpp"

namespace triax {
namespace {

using nlohmann::json;

bool is_taken(const Key& key, const std::vector<std::string>& taken) {
  return std::ranges::any_of(taken, [&](const std::string& one) {
    return one.ends_with('.') ? key.path.starts_with(one) : key.path == one;
  });
}

json value_of(const Key& key, const std::string& text) {
  json value = json::parse(text, nullptr, false);
  // A name or a path may look like a number.
  const bool textual = key.type == KeyType::string || key.type == KeyType::path;
  if (value.is_discarded() || (textual && !value.is_string() && !value.is_null())) value = text;
  if (const auto problem = problem_with(key, value))
    throw UsageError("--set " + key.path + ": " + *problem, {}, "Correct the value");
  return value.is_null() ? key.default_value : value;
}

}  // namespace

CommandKeys::CommandKeys(const std::string& command, const std::vector<std::string>& taken,
                         const std::vector<std::string>& overrides) {
  const KeyTable table;
  std::vector<std::string> names = {"parallel.tensor", "parallel.pipeline", "parallel.data"};
  for (const Key& key : table.keys())
    if (is_taken(key, taken)) {
      names.push_back(key.path);
      values_[key.path] = key.default_value;
    }
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    if (equals == one.npos) throw UsageError("--set " + one + " has no =", {}, "Write KEY=VALUE");
    const std::string path = one.substr(0, equals);
    if (path.starts_with("parallel.")) {
      grid_.push_back(one);
      continue;
    }
    if (!values_.contains(path))
      throw UsageError("--set " + path + ": " + command + " has no such key",
                       "nearest: " + nearest_word(path, names),
                       "See triax config --reference for the keys");
    values_[path] = value_of(*table.find(path), one.substr(equals + 1));
  }
}

std::string CommandKeys::text(const std::string& path) const {
  const json& value = values_.at(path);
  return value.is_null() ? std::string() : value.get<std::string>();
}

std::int64_t CommandKeys::integer(const std::string& path) const {
  const json& value = values_.at(path);  // 5e8 is an integer, too
  return value.is_number_float() ? static_cast<std::int64_t>(value.get<double>())
                                 : value.get<std::int64_t>();
}

double CommandKeys::number(const std::string& path) const {
  return values_.at(path).get<double>();
}

bool CommandKeys::flag(const std::string& path) const {
  return values_.at(path).get<bool>();
}

double CommandKeys::seconds(const std::string& path) const {
  return seconds_of(values_.at(path)).value_or(0);
}

std::vector<std::string> CommandKeys::texts(const std::string& path) const {
  const json& value = values_.at(path);
  if (value.is_null()) return {};
  return value.is_string() ? std::vector{value.get<std::string>()}
                           : value.get<std::vector<std::string>>();
}

}  // namespace triax

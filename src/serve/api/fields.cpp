// SPDX-License-Identifier: Apache-2.0
#include "src/serve/api/fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "src/serve/api/api_error.hpp"

namespace triax {
namespace {

using json = nlohmann::ordered_json;

constexpr int most_levels = 64;
constexpr int most_keys =
    20'000;  // an object that keeps the order of its keys finds one by looking at all

ApiError wrong_type(const std::string& name, const std::string& wanted) {
  return bad_request(fmt::format("'{}' must be {}", name, wanted), name);
}

}  // namespace

json parse_request(const std::string& body) {
  int keys = 0;
  const auto limit = [&](int depth, json::parse_event_t event, json&) {
    if (depth > most_levels)
      throw bad_request(fmt::format("the JSON body has more than {} levels", most_levels));
    if (event == json::parse_event_t::key && ++keys > most_keys)
      throw bad_request(fmt::format("the JSON body has more than {} keys", most_keys));
    return true;
  };
  try {
    return json::parse(body, limit);
  } catch (const json::exception& error) {
    throw bad_request(fmt::format("the body is not JSON in UTF-8 ({})", error.what()));
  }
}

Fields::Fields(const json& object) : object_(object) {
  if (!object.is_object()) throw bad_request("the body must be a JSON object");
}

const json* Fields::find(const std::string& name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

double Fields::number(const std::string& name, double otherwise, double least, double most) const {
  const json* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_number()) throw wrong_type(name, "a number");
  const double found = value->get<double>();
  if (!(found >= least && found <= most))
    throw bad_request(
        fmt::format("'{}' is {}; it must be from {} to {}", name, value->dump(), least, most),
        name);
  return found;
}

std::optional<std::int64_t> Fields::integer_if_any(const std::string& name, std::int64_t least,
                                                   std::int64_t most) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  const bool whole = value->is_number_integer() ||
                     (value->is_number_float() && std::abs(value->get<double>()) < 0x1p53 &&
                      std::trunc(value->get<double>()) == value->get<double>());
  if (!whole) throw wrong_type(name, "a whole number");
  const bool huge = value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX;
  const auto found = huge ? INT64_MAX : value->get<std::int64_t>();
  if (found < least || found > most)
    throw bad_request(
        fmt::format("'{}' is {}; it must be from {} to {}", name, value->dump(), least, most),
        name);
  return found;
}

std::int64_t Fields::integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                             std::int64_t most) const {
  return integer_if_any(name, least, most).value_or(otherwise);
}

bool Fields::flag(const std::string& name, bool otherwise) const {
  const json* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) throw wrong_type(name, "true or false");
  return value->get<bool>();
}

std::string Fields::text(const std::string& name, const std::string& otherwise) const {
  const json* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) throw wrong_type(name, "a string");
  return value->get<std::string>();
}

std::vector<std::string> Fields::texts(const std::string& name, std::size_t most) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  const json list = value->is_array() ? *value : json::array({*value});
  if (list.size() > most)
    throw bad_request(
        fmt::format("'{}' has {} strings; at most {} are allowed", name, list.size(), most), name);
  std::vector<std::string> found;
  for (const json& one : list) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty())
      throw wrong_type(name, "a string or a list of strings, none of them empty");
    found.push_back(one.get<std::string>());
  }
  return found;
}

std::vector<std::int32_t> token_list(const json& list, const std::string& name,
                                     std::int64_t vocabulary) {
  std::vector<std::int32_t> found;
  found.reserve(list.size());
  for (const json& one : list) {
    if (!one.is_number_integer()) throw wrong_type(name, "a list of token ids");
    const bool huge = one.is_number_unsigned() && one.get<std::uint64_t>() > INT32_MAX;
    if (huge || one.get<std::int64_t>() < 0 || one.get<std::int64_t>() >= vocabulary)
      throw bad_request(fmt::format("'{}' has the token id {}; ids are from 0 to {}", name,
                                    one.dump(), vocabulary - 1),
                        name);
    found.push_back(one.get<std::int32_t>());
  }
  return found;
}

std::vector<std::int32_t> Fields::tokens(const std::string& name, std::int64_t vocabulary) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) throw wrong_type(name, "a list of token ids");
  return token_list(*value, name, vocabulary);
}

void Fields::refuse(std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    const json* value = find(name);
    if (value == nullptr || *value == false || *value == 0 || *value == "" ||
        (value->is_structured() && value->empty()))
      continue;
    throw bad_request(fmt::format("'{}' is not supported. Leave it out", name), name,
                      "unsupported_parameter");
  }
}

}  // namespace triax

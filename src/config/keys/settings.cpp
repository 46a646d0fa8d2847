// SPDX-License-Identifier: Apache-2.0
#include "src/config/keys/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

void Settings::resolve(const std::string& path, nlohmann::json value, const std::string& source) {
  auto& setting = settings_[path];
  setting.automatic |= setting.value == "auto";
  setting.value = std::move(value);
  setting.source = source;
}

void Settings::default_for_auto(const std::string& path) {
  if (is_auto(path)) resolve(path, table_->find(path)->default_value);
}

std::vector<std::string> Settings::paths() const {
  std::vector<std::string> ordered;
  std::set<std::string> seen;
  for (const auto& key : table_->keys())
    if (settings_.contains(key.path) && seen.insert(key.path).second) ordered.push_back(key.path);
  for (const auto& [path, setting] : settings_)
    if (seen.insert(path).second) ordered.push_back(path);
  return ordered;
}

const Setting& Settings::at(const std::string& path) const {
  const auto found = settings_.find(path);
  check(found != settings_.end(), "no setting {}", path);
  return found->second;
}

std::int64_t Settings::integer(const std::string& path) const {
  const auto& value = at(path).value;
  check(value.is_number(), "{} is no number", path);
  return value.is_number_float() ? static_cast<std::int64_t>(value.get<double>())
                                 : value.get<std::int64_t>();
}

double Settings::number(const std::string& path) const {
  check(at(path).value.is_number(), "{} is no number", path);
  return at(path).value.get<double>();
}

bool Settings::boolean(const std::string& path) const {
  check(at(path).value.is_boolean(), "{} is no boolean", path);
  return at(path).value.get<bool>();
}

double Settings::seconds(const std::string& path) const {
  const auto seconds = seconds_of(at(path).value);
  check(seconds.has_value(), "{} is no duration", path);
  return *seconds;
}

std::string Settings::string(const std::string& path) const {
  check(at(path).value.is_string(), "{} is no string", path);
  return at(path).value.get<std::string>();
}

bool Settings::sound(const std::vector<std::string>& paths) const {
  return std::ranges::none_of(paths,
                              [&](const std::string& path) { return wrong_.contains(path); });
}

std::string Settings::type_of(const std::string& path) const {
  const auto key = discriminator(path);
  return !key.empty() && has(key) ? string(key) : "";
}

Origin Settings::origin_of(const std::string& path) const {
  const auto found = settings_.find(path);
  if (found != settings_.end() && !found->second.origin.file.empty()) return found->second.origin;
  const auto place = std::find_if(places_.rbegin(), places_.rend(),
                                  [&](const auto& entry) { return path.starts_with(entry.first); });
  return place == places_.rend() ? Origin{} : place->second(path);
}

void Settings::warn(const std::string& path, const std::string& text) {
  const std::string place = origin_of(path).text();
  warn(fmt::format("{}{}{}: {}", place, place.empty() ? "" : ": ", path, text));
}

void Settings::error(ErrorList& errors, const std::string& path, const std::string& text) {
  errors.add(origin_of(path), path + ": " + text);
  mark_wrong(path);
}

}  // namespace triax

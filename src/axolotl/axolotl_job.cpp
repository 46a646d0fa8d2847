// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/axolotl_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace triax {
namespace {

using nlohmann::ordered_json;

std::string shown(const ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

// The name and, if any, the index of one part of a path: "datasets[0]".
const ordered_json* child_of(const ordered_json& node, const std::string& part) {
  const auto bracket = part.find('[');
  const std::string name = part.substr(0, bracket);
  if (!node.is_object() || !node.contains(name)) return nullptr;
  const ordered_json& value = node.at(name);
  if (bracket == part.npos) return &value;
  const auto index =
      static_cast<std::size_t>(std::strtoul(part.c_str() + bracket + 1, nullptr, 10));
  return value.is_array() && index < value.size() ? &value.at(index) : nullptr;
}

std::optional<double> number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return {};
  return value;
}

}  // namespace

const ordered_json* AxolotlJob::find(const std::string& path) const {
  read_.insert(path);
  const ordered_json* node = &document_.root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const auto end = std::min(path.find('.', begin), path.size());
    node = child_of(*node, path.substr(begin, end - begin));
    if (node == nullptr) return nullptr;
    begin = end + 1;
  }
  return node->is_null() ? nullptr : node;
}

std::optional<double> AxolotlJob::number(const std::string& path) {
  const ordered_json* const value = find(path);
  if (value == nullptr) return {};
  if (value->is_number()) return value->get<double>();
  if (value->is_string())
    if (const auto number = number_of(value->get<std::string>())) return number;
  refuse(path, "expected a number, got " + shown(*value));
  return {};
}

std::optional<bool> AxolotlJob::boolean(const std::string& path) {
  const ordered_json* const value = find(path);
  if (value == nullptr) return {};
  if (value->is_boolean()) return value->get<bool>();
  refuse(path, "expected true or false, got " + shown(*value));
  return {};
}

std::optional<std::string> AxolotlJob::text(const std::string& path) {
  const ordered_json* const value = find(path);
  if (value == nullptr) return {};
  if (value->is_string()) return value->get<std::string>();
  refuse(path, "expected a text, got " + shown(*value));
  return {};
}

bool AxolotlJob::is_on(const std::string& path) const {
  const ordered_json* const value = find(path);
  return value != nullptr && *value != false;
}

int AxolotlJob::line(const std::string& path) const {
  for (auto end = path.size(); end != path.npos && end > 0;
       end = path.find_last_of(".[", end - 1)) {
    const auto found = document_.lines.find(path.substr(0, end));
    if (found != document_.lines.end()) return found->second;
    if (end == 0) break;
  }
  const auto root = document_.lines.find("");
  return root == document_.lines.end() ? 0 : root->second;
}

void AxolotlJob::put(Entry entry) {
  const auto same = std::ranges::find(entries_, entry.key, &Entry::key);
  if (same != entries_.end()) entries_.erase(same);
  entries_.push_back(std::move(entry));
}

void AxolotlJob::set(const std::string& key, ordered_json value, const std::string& from) {
  put({key, std::move(value), fmt::format("{}, line {}", from, line(from)), line(from)});
}

void AxolotlJob::set_default(const std::string& key, ordered_json value, const std::string& why) {
  put({key, std::move(value), why, 0});
}

void AxolotlJob::remark(const std::string& text) {
  entries_.back().origin += ". " + text;
}

void AxolotlJob::refuse(const std::string& path, const std::string& problem) {
  errors_.add({file_, line(path)}, path + ": " + problem);
}

void AxolotlJob::lack(const std::string& path, const std::string& problem) {
  lacking_.add({file_, line(path)}, path + ": " + problem);
}

void AxolotlJob::pass_over(const std::string& path, const std::string& why) {
  passed_over_.push_back(fmt::format("{} (line {}): {}", path, line(path), why));
}

}  // namespace triax

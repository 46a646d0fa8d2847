// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/yaml_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

constexpr int most_levels = 64, most_values = 100'000;

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

// Text of digits, with _ between them; no leading zero, which YAML 1.1 reads as octal.
bool is_integer(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '_' || (text.size() > 1 && text.front() == '0')) return false;
  return text.find_first_not_of("0123456789_") == text.npos;
}

bool is_number(std::string_view text) {
  const bool digits = text.find_first_of("0123456789") != text.npos;
  const bool fraction = text.find_first_of(".eE") != text.npos;
  return digits && fraction && text.find_first_not_of("0123456789_.eE+-") == text.npos;
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.starts_with('+')) digits.erase(0, 1);
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return {};
  return value;
}

ordered_json plain_scalar(const std::string& text) {
  constexpr std::array<std::string_view, 5> null = {"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 9> yes = {"yes",  "Yes", "YES", "true", "True",
                                                   "TRUE", "on",  "On",  "ON"};
  constexpr std::array<std::string_view, 9> no = {"no",    "No",  "NO",  "false", "False",
                                                  "FALSE", "off", "Off", "OFF"};
  if (is_one_of(null, text)) return nullptr;
  if (is_one_of(yes, text)) return true;
  if (is_one_of(no, text)) return false;
  if (is_integer(text))
    if (const auto value = number_of<std::int64_t>(text)) return *value;
  if (is_number(text))
    if (const auto value = number_of<double>(text)) return *value;
  return text;
}

// Walks yaml-cpp's nodes.
class Reader {
 public:
  Reader(std::string file, ErrorList& errors, YamlDocument& document)
      : file_(std::move(file)), errors_(errors), document_(document) {}

  ordered_json value_of(const YAML::Node& node, const std::string& path, int level) {
    if (level > most_levels || ++values_ > most_values)
      fail(node, fmt::format("more than {} levels, or more than {} values in the file. Write it "
                             "without aliases",
                             most_levels, most_values));
    if (node.IsMap()) return map_of(node, path, level);
    if (node.IsSequence()) return list_of(node, path, level);
    return scalar_of(node);
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& problem) const {
    throw UsageError(fmt::format("{}:{}: {}", file_, node.Mark().line + 1, problem));
  }

  ordered_json scalar_of(const YAML::Node& node) const {
    if (node.IsNull()) return nullptr;
    const std::string& tag = node.Tag();
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return node.Scalar();  // in quotes
    if (!tag.empty() && tag != "?")
      fail(node, fmt::format("the tag {} is not read. Leave it out", tag));
    return plain_scalar(node.Scalar());
  }

  ordered_json list_of(const YAML::Node& node, const std::string& path, int level) {
    ordered_json list = ordered_json::array();
    for (const YAML::Node& element : node) {
      const std::string at = fmt::format("{}[{}]", path, list.size());
      document_.lines.emplace(at, element.Mark().line + 1);
      list.push_back(value_of(element, at, level + 1));
    }
    return list;
  }

  // A key of the map itself wins over one that << merges into it.
  ordered_json map_of(const YAML::Node& node, const std::string& path, int level) {
    ordered_json map = ordered_json::object();
    std::set<std::string> own;
    for (const auto& entry : node) {
      const YAML::Node& key = entry.first;
      if (!key.IsScalar()) fail(key, "a key must be a word");
      const std::string name = key.Scalar();
      if (name == "<<") continue;
      const std::string at = path.empty() ? name : path + "." + name;
      const int line = key.Mark().line + 1;
      if (!own.insert(name).second)
        errors_.add({file_, line},
                    fmt::format("{}: written twice, first in line {}", at, document_.lines.at(at)));
      document_.lines[at] = line;
      map[name] = value_of(entry.second, at, level + 1);
    }
    for (const auto& entry : node)
      if (entry.first.Scalar() == "<<") merge(map, own, entry.second, path, level);
    return map;
  }

  void merge(ordered_json& map, const std::set<std::string>& own, const YAML::Node& from,
             const std::string& path, int level) {
    if (from.IsSequence()) {
      for (const YAML::Node& each : from) merge(map, own, each, path, level + 1);
      return;
    }
    if (!from.IsMap()) fail(from, "<<: expected a map, or a list of maps");
    YamlDocument merged;
    const ordered_json values = Reader(file_, errors_, merged).value_of(from, path, level + 1);
    for (const auto& [name, value] : values.items())
      if (!map.contains(name)) map[name] = value;
    document_.lines.insert(merged.lines.begin(), merged.lines.end());
  }

  std::string file_;
  ErrorList& errors_;
  YamlDocument& document_;
  int values_ = 0;
};

std::vector<YAML::Node> load(const std::string& text, const std::string& file) {
  try {
    return YAML::LoadAll(text);
  } catch (const YAML::Exception& error) {
    const bool tab = error.msg.find("tab") != std::string::npos;
    throw UsageError(fmt::format("{}:{}: not YAML at column {} ({}){}", file, error.mark.line + 1,
                                 error.mark.column + 1, error.msg,
                                 tab ? ". Indent with blanks" : ""));
  }
}

}  // namespace

YamlDocument parse_yaml(const std::string& text, const std::string& file, ErrorList& errors) {
  const std::vector<YAML::Node> documents = load(text, file);
  if (documents.size() > 1)
    throw UsageError(fmt::format("{}:{}: a second document begins here. Write one per file", file,
                                 documents[1].Mark().line + 1));
  YamlDocument document;
  if (documents.empty() || !documents[0].IsMap())
    throw UsageError(fmt::format(
        "{}: expected a map of Axolotl's keys, as \"base_model: DIRECTORY\" in a line", file));
  document.lines[""] = documents[0].Mark().line + 1;
  document.root = Reader(file, errors, document).value_of(documents[0], {}, 0);
  return document;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/config/load/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "src/config/load/job.hpp"

namespace triax {
namespace {
using nlohmann::ordered_json;
using Row = std::vector<std::string>;

// Columns are as wide as their widest cell, at most 40 characters; the last column is unlimited.
std::string as_table(const std::vector<Row>& rows) {
  constexpr std::size_t widest = 40;
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i].size() <= widest) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    text += line + row.back() + '\n';
  }
  return text;
}

std::string shown(const nlohmann::json& value) {
  return value.is_null() ? "-"
                         : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

std::string allowed_text(const Key& key) {
  auto text = key.allowed.text();
  if (key.takes_auto_too() && key.treatment == Treatment::obeyed)
    text += text.empty() ? "or \"auto\"" : ", or \"auto\"";
  if (key.fraction) text += ", or a fraction of run.steps below 1";
  if (key.treatment == Treatment::refused) text = "only " + key.default_value.dump();
  return text;
}

std::string meaning_text(const Key& key) {
  std::string text =
      key.scope.empty() ? key.meaning : fmt::format("({}) {}", joined(key.scope), key.meaning);
  for (const auto& value : key.not_built) text += "; " + shown(value) + " is not built yet";
  if (key.treatment == Treatment::accepted) text += " [accepted, without meaning here]";
  if (key.treatment == Treatment::refused) text += " [any other is refused: " + key.reason + "]";
  return text;
}

std::string reference_as_json(const KeyTable& table) {
  auto list = ordered_json::array();
  for (const auto& key : table.keys())
    list.push_back({{"key", key.path},
                    {"type", type_name(key.type)},
                    {"default", key.default_value},
                    {"unit", key.unit},
                    {"allowed", allowed_text(key)},
                    {"only_for", key.scope},
                    {"not_built", key.not_built},
                    {"treatment", treatment_name(key.treatment)},
                    {"reason", key.reason},
                    {"meaning", key.meaning}});
  return list.dump(2) + "\n";
}

Row reference_columns() {
  return {"key", "type", "default", "unit", "allowed", "meaning"};
}

Row reference_row(const Key& key) {
  return {key.path,
          type_name(key.type),
          shown(key.default_value),
          key.unit.empty() ? "-" : key.unit,
          allowed_text(key),
          meaning_text(key)};
}

// Text as a Markdown cell: characters that are markup are escaped. Underscores within words are not
// markup.
std::string escaped(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (std::string_view("\\|*`<").find(c) != std::string_view::npos) cell += '\\';
    cell += c;
  }
  return cell;
}

std::string markdown_line(const Row& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + cell + " |";
  return line + '\n';
}

// Section heading: the first word of a key's path; "Top level" for a key without a section.
std::string section_of(const Key& key) {
  const auto dot = key.path.find('.');
  return dot == std::string::npos ? "Top level" : key.path.substr(0, dot);
}

std::string reference_as_markdown(const KeyTable& table) {
  std::vector<std::pair<std::string, std::string>> sections;  // in the order of their first keys
  for (const Key& key : table.keys()) {
    const std::string name = section_of(key);
    auto section = std::ranges::find(sections, name, &std::pair<std::string, std::string>::first);
    if (section == sections.end()) {
      const Row columns = reference_columns();
      const Row rule(columns.size(), "---");
      section =
          sections.insert(sections.end(), {name, markdown_line(columns) + markdown_line(rule)});
    }
    Row row = reference_row(key);
    for (std::string& cell : row) cell = escaped(cell);
    row.front() = '`' + key.path + '`';
    section->second += markdown_line(row);
  }
  std::string text = "# Keys of a job file\n";
  for (const auto& [name, rows] : sections) text += fmt::format("\n## {}\n\n{}", name, rows);
  return text;
}

}  // namespace

JobDescription describe_job(const std::string& path, const std::vector<std::string>& overrides,
                            int ranks, bool json) {
  const KeyTable table;
  const auto job = resolve_job(table, read_source(path, overrides, ranks));
  std::vector<Row> rows = {{"key", "value", "from"}};
  auto list = ordered_json::array();
  for (const auto& key : job.settings.paths()) {
    const auto& setting = job.settings.at(key);
    if (setting.treatment != Treatment::obeyed && !setting.given) continue;
    // A refused key that is present has its only allowed value.
    const auto treatment =
        setting.treatment == Treatment::refused ? Treatment::obeyed : setting.treatment;
    rows.push_back(
        {key, shown(setting.value),
         setting.source +
             (treatment == Treatment::obeyed ? "" : " (" + treatment_name(treatment) + ")")});
    list.push_back({{"key", key},
                    {"value", setting.value},
                    {"from", setting.source},
                    {"treatment", treatment_name(treatment)}});
  }
  return {json ? list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
               : as_table(rows),
          job.all_missing()};
}

std::string key_reference(ReferenceFormat format) {
  const KeyTable table;
  if (format == ReferenceFormat::json) return reference_as_json(table);
  if (format == ReferenceFormat::markdown) return reference_as_markdown(table);
  std::vector<Row> rows = {reference_columns()};
  for (const Key& key : table.keys()) rows.push_back(reference_row(key));
  return as_table(rows);
}

}  // namespace triax

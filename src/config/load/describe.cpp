#include "src/config/load/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/config/load/job.hpp"

namespace triax {
namespace {
using nlohmann::ordered_json;
using Row = std::vector<std::string>;

// Columns as wide as their widest cell, 40 characters at most; the last as long as it likes.
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
  if (key.treatment == Treatment::refused) text = "only " + key.fallback.dump();
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

}  // namespace

JobDescription describe_job(const std::string& path, const std::vector<std::string>& overrides,
                            int ranks, bool json) {
  const KeyTable table;
  const auto job = resolve_job(table, path, overrides, ranks);
  std::vector<Row> rows = {{"key", "value", "from"}};
  auto list = ordered_json::array();
  for (const auto& key : job.settings.paths()) {
    const auto& setting = job.settings.at(key);
    if (setting.treatment != Treatment::obeyed && !setting.given) continue;
    // A value that is here was not refused: it is the one that a key of that kind may have.
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

std::string key_reference(bool json) {
  const KeyTable table;
  std::vector<Row> rows = {{"key", "type", "default", "unit", "allowed", "meaning"}};
  auto list = ordered_json::array();
  for (const auto& key : table.keys()) {
    rows.push_back({key.path, type_name(key.type), shown(key.fallback),
                    key.unit.empty() ? "-" : key.unit, allowed_text(key), meaning_text(key)});
    list.push_back({{"key", key.path},
                    {"type", type_name(key.type)},
                    {"default", key.fallback},
                    {"unit", key.unit},
                    {"allowed", allowed_text(key)},
                    {"only_for", key.scope},
                    {"not_built", key.not_built},
                    {"treatment", treatment_name(key.treatment)},
                    {"reason", key.reason},
                    {"meaning", key.meaning}});
  }
  return json ? list.dump(2) + "\n" : as_table(rows);
}

}  // namespace triax

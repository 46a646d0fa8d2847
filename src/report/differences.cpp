// SPDX-License-Identifier: Apache-2.0
#include "src/report/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>

namespace triax {
namespace {

using nlohmann::ordered_json;

std::string last_of(const Series& series) {
  return series.empty() ? "" : number_text(series.y.back());
}

std::string least_of(const Series& series) {
  if (series.empty()) return {};
  const auto least = std::ranges::min_element(series.y);
  return fmt::format("{} at step {:.0f}", number_text(*least),
                     series.x[static_cast<std::size_t>(least - series.y.begin())]);
}

double sum_of(const Series& series) {
  return std::accumulate(series.y.begin(), series.y.end(), 0.0);
}

std::string rate_of(const RunData& run) {
  Series rates = run.curve("tokens_per_second");
  if (rates.empty()) return {};
  const auto middle = rates.y.begin() + std::ssize(rates.y) / 2;
  std::ranges::nth_element(rates.y, middle);
  return number_text(*middle);
}

std::string largest_memory(const RunData& run) {
  const Series& memory = run.curve("peak_memory_bytes");
  return memory.empty() ? "" : bytes_text(*std::ranges::max_element(memory.y));
}

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void flatten(const std::string& path, const ordered_json& node,
             std::map<std::string, std::string>& values) {
  if (!node.is_object() || node.empty()) {
    values[path] = text_of(node);
    return;
  }
  for (const auto& entry : node.items())
    flatten(path.empty() ? entry.key() : path + "." + entry.key(), entry.value(), values);
}

std::map<std::string, std::string> values_of(const RunData& run) {
  std::map<std::string, std::string> values;
  if (run.job.is_object()) flatten("", run.job, values);
  return values;
}

std::vector<std::string> names_of(const std::vector<RunData>& runs, const std::string& first) {
  std::vector<std::string> names = {first};
  for (const RunData& run : runs) names.push_back(run.name);
  return names;
}

}  // namespace

HtmlTable summary_table(const std::vector<RunData>& runs) {
  HtmlTable table{names_of(runs, "run"), {}};
  const auto row = [&](const std::string& name,
                       const std::function<std::string(const RunData&)>& cell) {
    std::vector<std::string> cells = {name};
    for (const RunData& run : runs) cells.push_back(cell(run));
    if (std::ranges::any_of(cells.begin() + 1, cells.end(),
                            [](const auto& text) { return !text.empty(); }))
      table.rows.push_back(std::move(cells));
  };
  row("steps done", [](const RunData& run) {
    return run.steps > 0 ? fmt::format("{} of {}", run.steps_done, run.steps)
                         : fmt::format("{}", run.steps_done);
  });
  row("tokens", [](const RunData& run) { return number_text(run.tokens); });
  row("last loss", [](const RunData& run) { return last_of(run.curve("loss")); });
  row("least loss", [](const RunData& run) { return least_of(run.curve("loss")); });
  row("last validation loss", [](const RunData& run) { return last_of(run.curve("valid_loss")); });
  row("least validation loss",
      [](const RunData& run) { return least_of(run.curve("valid_loss")); });
  row("tokens/s (median)", rate_of);
  row("time in steps",
      [](const RunData& run) { return duration_text(sum_of(run.curve("step_seconds"))); });
  row("MFU, last", [](const RunData& run) { return last_of(run.curve("mfu")); });
  row("largest memory of a rank", largest_memory);
  row("ranks", [](const RunData& run) {
    return run.start.is_object() ? fmt::format("{}", run.start.value("ranks", 0)) : std::string();
  });
  row("skipped steps", [](const RunData& run) { return fmt::format("{}", run.skipped); });
  row("loss spikes", [](const RunData& run) { return fmt::format("{}", run.spikes); });
  return table;
}

HtmlTable difference_table(const std::vector<RunData>& runs) {
  HtmlTable table{names_of(runs, "key"), {}};
  std::vector<std::map<std::string, std::string>> values;
  std::map<std::string, std::string> keys;  // all of them
  for (const RunData& run : runs) {
    values.push_back(values_of(run));
    keys.insert(values.back().begin(), values.back().end());
  }
  for (const auto& entry : keys) {
    std::vector<std::string> cells = {entry.first};
    for (const auto& run : values) {
      const auto found = run.find(entry.first);
      cells.push_back(found == run.end() ? "-" : found->second);
    }
    if (std::ranges::any_of(cells.begin() + 1, cells.end(),
                            [&](const auto& text) { return text != cells[1]; }))
      table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "benchmarks/support/table.hpp"

namespace triax::benchmark {
namespace {

// The last `count` names of a path.
std::string last_names(const std::filesystem::path& path, std::ptrdiff_t count) {
  std::filesystem::path last;
  const auto all = std::distance(path.begin(), path.end());
  for (auto name = std::next(path.begin(), std::max<std::ptrdiff_t>(0, all - count));
       name != path.end(); ++name)
    last /= *name;
  return last.string();
}

// Names of facts in the order in which they appear.
std::vector<std::string> facts_of(const Results& results) {
  std::vector<std::string> names;
  for (const Machine& machine : results.machines)
    for (const auto& fact : machine.facts)
      if (std::ranges::find(names, fact.first) == names.end()) names.push_back(fact.first);
  return names;
}

// All values of a fact in a file: "1, 2, 4" for programs on 1, 2 and 4 ranks.
std::string said(const Results& results, std::size_t file, const std::string& name) {
  std::vector<std::string> values;
  for (const Machine& machine : results.machines)
    for (const auto& [key, value] : machine.facts)
      if (machine.file == file && key == name && std::ranges::find(values, value) == values.end())
        values.push_back(value);
  return fmt::format("{}", fmt::join(values, ", "));
}

const Case* counterpart(const Results& results, const Case& like) {
  for (const Case& c : results.cases)
    if (c.file == 1 && c.benchmark == like.benchmark && c.name == like.name &&
        c.program == like.program && c.series == like.series &&
        c.median().figure("cores") == like.median().figure("cores"))
      return &c;
  return nullptr;
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::ptrdiff_t longest = 1;
  for (const std::filesystem::path path : paths)
    longest = std::max(longest, std::distance(path.begin(), path.end()));
  for (std::ptrdiff_t count = 1;; ++count) {
    std::vector<std::string> names;
    for (const std::string& path : paths) names.push_back(last_names(path, count));
    const std::set<std::string> distinct(names.begin(), names.end());
    if (distinct.size() == paths.size() || count >= longest) return names;
  }
}

std::string machine_table(const Results& results, const std::vector<std::string>& files) {
  std::vector<std::string> names = {""};
  names.insert(names.end(), files.begin(), files.end());
  std::string text = head(names);
  for (const std::string& name : facts_of(results)) {
    std::vector<std::string> cells = {name};
    for (std::size_t file = 0; file < files.size(); ++file)
      cells.push_back(said(results, file, name));
    text += row(std::move(cells));
  }
  return text;
}

std::vector<std::string> differences(const Results& results,
                                     const std::vector<std::string>& files) {
  constexpr std::array<std::string_view, 6> of_a_run = {"host",  "date",    "nodes",
                                                        "ranks", "threads", "cores"};
  std::vector<std::string> lines;
  for (const std::string& name : facts_of(results)) {
    if (std::ranges::find(of_a_run, name) != of_a_run.end()) continue;
    std::vector<std::string> texts;
    std::set<std::string> values;
    for (std::size_t file = 0; file < files.size(); ++file) {
      const std::string value = said(results, file, name);
      if (value.empty()) continue;
      texts.push_back(fmt::format("{} in {}", value, files[file]));
      values.insert(value);
    }
    if (values.size() > 1)
      lines.push_back(fmt::format("{} differs: {}", name, fmt::join(texts, "; ")));
  }
  return lines;
}

std::vector<std::string> worse(const Results& results, double percent) {
  std::vector<std::string> lines;
  for (const Case& c : results.cases) {
    if (c.file != 0) continue;
    const std::string name = fmt::format("{}: {}", c.benchmark, c.name);
    const Case* other = counterpart(results, c);
    if (other == nullptr) {
      lines.push_back(name + " is not there");
      continue;
    }
    const double slower = times_as_long(other->median(), c.median());
    if (slower > 1.0 + percent / 100.0)
      lines.push_back(fmt::format("{} takes {:.2f} times as long", name, slower));
  }
  return lines;
}

}  // namespace triax::benchmark

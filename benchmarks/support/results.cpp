// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace triax::benchmark {
namespace {

using Json = nlohmann::ordered_json;

Run run_of(const Json& line) {
  Run run{.seconds = line.at("seconds"),
          .spread = line.value("spread", 0.0),
          .figures = {},
          .slowest = line.value("slowest", "")};
  for (const auto& [name, value] : line.items())
    if (value.is_number() && name != "seconds" && name != "spread")
      run.figures.emplace_back(name, value);
  return run;
}

Case case_of(const Json& line, std::size_t file) {
  if (line.value("cores", 1.0) <= 0) throw std::invalid_argument("cores has to be positive");
  if (line.at("seconds") <= 0.0) throw std::invalid_argument("seconds has to be positive");
  return {.benchmark = line.at("benchmark"),
          .name = line.at("case"),
          .program = line.value("program", ""),
          .series = line.value("series", ""),
          .limit = line.value("limit", ""),
          .file = file,
          .runs = {run_of(line)}};
}

Machine machine_of(const Json& line, std::size_t file) {
  Machine machine{file, {}};
  for (const auto& [name, value] : line.items())
    if (name != "benchmark")
      machine.facts.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  return machine;
}

bool same(const Case& a, const Case& b) {
  return a.file == b.file && a.benchmark == b.benchmark && a.name == b.name &&
         a.program == b.program && a.series == b.series &&
         a.runs.front().figure("cores") == b.runs.front().figure("cores");
}

void add(std::vector<Case>& cases, Case read) {
  const auto known = std::find_if(cases.begin(), cases.end(),
                                  [&](const Case& other) { return same(other, read); });
  if (known == cases.end())
    cases.push_back(std::move(read));
  else
    known->runs.push_back(std::move(read.runs.front()));
}

}  // namespace

double Run::figure(const std::string& name, double otherwise) const {
  for (const auto& [key, value] : figures)
    if (key == name) return value;
  return otherwise;
}

std::pair<std::string, double> Run::rate() const {
  for (const auto& figure : figures)
    if (figure.first.ends_with("_per_second")) return figure;
  return {};
}

double times_as_long(const Run& run, const Run& other) {
  const auto [unit, rate] = run.rate();
  const auto [other_unit, other_rate] = other.rate();
  const bool rates = rate > 0 && other_rate > 0 && unit == other_unit;
  return rates ? other_rate / rate : run.seconds / other.seconds;
}

Results read_results(const std::vector<std::string>& files) {
  Results results;
  for (std::size_t file = 0; file < files.size(); ++file) {
    std::ifstream in(files[file]);
    std::string text;
    bool empty = true;
    for (int number = 1; std::getline(in, text); ++number) {
      if (text.empty()) continue;
      empty = false;
      try {
        const Json line = Json::parse(text);
        if (line.at("benchmark") == "machine")
          results.machines.push_back(machine_of(line, file));
        else
          add(results.cases, case_of(line, file));
      } catch (const std::exception& why) {
        results.refused.push_back(
            fmt::format("{}:{}: not a benchmark's line: {}", files[file], number, why.what()));
      }
    }
    if (empty)
      results.refused.push_back(fmt::format(
          "{} has no lines that can be read: look at the benchmarks' log", files[file]));
  }
  for (Case& each : results.cases)
    std::sort(each.runs.begin(), each.runs.end(),
              [](const Run& a, const Run& b) { return a.seconds < b.seconds; });
  return results;
}

}  // namespace triax::benchmark

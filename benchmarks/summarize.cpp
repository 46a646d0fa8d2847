// SPDX-License-Identifier: Apache-2.0
// Tables (Markdown, on standard output) and plots (SVG) of what benchmarks printed.
//   benchmarks/summarize out.jsonl                      one machine
//   benchmarks/summarize before.jsonl after.jsonl       side by side
//   benchmarks/summarize --svg plots out.jsonl          and plots/BENCHMARK.svg
//   benchmarks/summarize --within 5 ref.jsonl new.jsonl status 1 where a case of ref is 5 % slower
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/compare.hpp"
#include "benchmarks/support/plot.hpp"
#include "benchmarks/support/results.hpp"
#include "benchmarks/support/table.hpp"
#include "kernels/base/check.hpp"

namespace {

using namespace triax;
using benchmark::Bar;
using benchmark::Case;
using benchmark::Curve;
using Cases = std::vector<const Case*>;
using Groups = std::vector<std::pair<std::string, Cases>>;  // in the order of the files

Groups grouped(const Cases& cases, const std::function<std::string(const Case&)>& key) {
  Groups groups;
  for (const Case* c : cases) {
    const std::string name = key(*c);
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == name; });
    if (known == groups.end())
      groups.emplace_back(name, Cases{c});
    else
      known->second.push_back(c);
  }
  return groups;
}

// Groups of a benchmark's cases, by how they are shown.
struct Sorted {
  Cases plain;
  Groups peers;    // by case: several programs
  Groups scaling;  // by series
};

// Peers and series belong to one machine each, that is to one file.
Sorted sorted(const Cases& cases, const std::vector<std::string>& files) {
  const auto of_file = [&](const std::string& name, const Case& c) {
    return files.size() > 1 ? fmt::format("{}, {}", name, files[c.file]) : name;
  };
  Sorted out;
  Cases points, rest;
  for (const Case* c : cases) (c->series.empty() ? rest : points).push_back(c);
  out.scaling = grouped(points, [&](const Case& c) { return of_file(c.series, c); });
  for (auto& [name, group] : grouped(rest, [&](const Case& c) { return of_file(c.name, c); })) {
    const bool several = std::any_of(group.begin(), group.end(), [&](const Case* c) {
      return c->program != group.front()->program;
    });
    if (several)
      out.peers.emplace_back(name, group);
    else
      out.plain.insert(out.plain.end(), group.begin(), group.end());
  }
  return out;
}

bool has_rates(const Cases& cases) {
  return std::all_of(cases.begin(), cases.end(),
                     [](const Case* c) { return c->median().rate().second > 0; });
}

// Bars show fractions of the limit if the cases have them, else rates.
std::string bars_of(const std::string& benchmark, const Cases& cases,
                    const std::vector<std::string>& files) {
  const bool limit = std::all_of(cases.begin(), cases.end(), [](const Case* c) {
    return c->median().figure("peak_fraction", -1.0) >= 0;
  });
  std::vector<Bar> bars;
  for (const auto& [name, group] : grouped(cases, [](const Case& c) { return c.name; })) {
    Bar bar{name, std::vector<double>(files.size(), -1.0)};
    for (const Case* c : group)
      bar.values[c->file] = limit ? c->median().figure("peak_fraction") : c->median().rate().second;
    bars.push_back(std::move(bar));
  }
  const std::string unit = cases.front()->median().rate().first;
  return bar_plot(benchmark + ": " + (limit ? "fraction of " + benchmark::limit_of(cases) : unit),
                  files, bars, limit);
}

std::string peer_bars(const std::string& name, const Cases& programs) {
  std::vector<Bar> bars;
  for (const Case* c : programs) bars.push_back({c->program, {c->median().rate().second}});
  return bar_plot(name + ": " + programs.front()->median().rate().first, {""}, bars, false);
}

std::string curves_of(const std::string& benchmark, const Groups& series) {
  std::vector<Curve> curves;
  for (const auto& [name, points] : series) {
    Curve curve{name, {}};
    for (const Case* c : points)
      curve.points.emplace_back(c->median().figure("cores", 1.0), c->median().rate().second);
    std::sort(curve.points.begin(), curve.points.end());
    curves.push_back(std::move(curve));
  }
  const std::string rate = series.front().second.front()->median().rate().first;
  return scaling_plot(benchmark + ": scaling", "cores", rate, curves);
}

class Plots {
 public:
  explicit Plots(std::string directory) : directory_(std::move(directory)) {
    if (!directory_.empty()) std::filesystem::create_directories(directory_);
  }
  void write(const std::string& name, const std::function<std::string()>& svg) const {
    if (directory_.empty()) return;
    std::string file_name = name + ".svg";
    std::ranges::replace(file_name, '/', '-');
    const std::string path = directory_ + "/" + file_name;
    std::ofstream file(path);
    file << svg() << std::flush;
    if (!file)
      throw Error(fmt::format("{} cannot be written", path), "", "Choose another --svg directory");
    fmt::print(stderr, "{}\n", path);
  }

 private:
  std::string directory_;  // empty: no plots
};

void show(const std::string& benchmark, const Cases& cases, const std::vector<std::string>& files,
          const Plots& plots) {
  const Sorted parts = sorted(cases, files);
  fmt::print("## {}\n\n", benchmark);
  if (!parts.plain.empty()) {
    fmt::print("{}\n", benchmark::case_table(parts.plain, files));
    if (has_rates(parts.plain))
      plots.write(benchmark, [&] { return bars_of(benchmark, parts.plain, files); });
  }
  for (std::size_t i = 0; i < parts.peers.size(); ++i) {
    const auto& [name, programs] = parts.peers[i];
    fmt::print("### {}\n\n{}\n", name, benchmark::peer_table(programs));
    if (has_rates(programs))
      plots.write(fmt::format("{}-peers-{}", benchmark, i + 1),
                  [&] { return peer_bars(name, programs); });
  }
  for (const auto& [name, points] : parts.scaling)
    fmt::print("### {}\n\n{}\n", name, benchmark::scaling_table(points));
  const bool all_rates = std::all_of(parts.scaling.begin(), parts.scaling.end(),
                                     [](const auto& group) { return has_rates(group.second); });
  if (!parts.scaling.empty() && all_rates)
    plots.write(benchmark + "-scaling", [&] { return curves_of(benchmark, parts.scaling); });
}

// Shows the machines first, because numbers of different processors or builds cannot be compared.
void show_machines(const benchmark::Results& results, const std::vector<std::string>& files) {
  if (results.machines.empty()) return;
  fmt::print("## machine\n\n{}\n", benchmark::machine_table(results, files));
  for (const std::string& line : benchmark::differences(results, files))
    fmt::print(stderr, "summarize: WARNING: {}\n", line);
}

// Returns the exit status: 2 if lines were left out, 1 if a case is worse than allowed.
int summarize(const std::vector<std::string>& paths, const Plots& plots,
              std::optional<double> percent) {
  const benchmark::Results results = benchmark::read_results(paths);
  const std::vector<std::string> files = benchmark::short_names(paths);
  Cases all;
  for (const Case& c : results.cases) all.push_back(&c);
  show_machines(results, files);
  for (const auto& [name, group] : grouped(all, [](const Case& c) { return c.benchmark; }))
    show(name, group, files, plots);
  for (const std::string& line : results.refused) fmt::print(stderr, "summarize: {}\n", line);
  std::vector<std::string> beyond;
  if (percent) beyond = benchmark::worse(results, *percent);
  for (const std::string& line : beyond)
    fmt::print(stderr, "summarize: beyond {} % of {}: {}\n", *percent, files[0], line);
  if (!results.refused.empty()) return 2;
  return beyond.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::string directory;
  std::optional<double> percent;
  CLI::App app{
      "Tables and plots of benchmarks' JSON lines. Exits with 2 if a line is not a benchmark's."};
  app.add_option("files", files, "Files of JSON lines, one per machine or build")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--svg", directory, "Directory for plots, created if missing");
  app.add_option(
         "--within", percent,
         "For two files: exit with 1 if the second lacks a case of the first or is slower by more "
         "than this many per cent; stderr names the cases")
      ->check(CLI::NonNegativeNumber);
  if (const auto status = benchmark::refused(app, argc, argv)) return *status;
  try {
    if (percent && files.size() != 2)
      throw UsageError("--within compares exactly two files", "",
                       "Name a reference file and a new one");
    return summarize(files, Plots(directory), percent);
  } catch (const std::exception& error) {
    fmt::print(stderr, "summarize: {}\n", error.what());
    return 2;
  }
}

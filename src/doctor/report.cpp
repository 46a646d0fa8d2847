// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/process/process_limits.hpp"
#include "src/comm/interface/rank_ranges.hpp"
#include "src/doctor/rank_groups.hpp"

namespace triax::doctor {
namespace {

using Ranks = const std::vector<RankFacts>&;
constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

int node_count(const std::vector<RankFacts>& ranks) {
  std::set<std::string> hosts;
  for (const RankFacts& rank : ranks) hosts.insert(rank.host);
  return static_cast<int>(hosts.size());
}

// Adds the lines of one fact, with the ranks of each value if they differ.
void add_lines(std::string& text, const char* title, Ranks ranks, const Value& value) {
  constexpr std::size_t most = 6;
  const auto groups = by_value(ranks, value);
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i)
    text += fmt::format("{:<12}{}{}\n", i == 0 ? title : "", groups[i].first,
                        groups.size() == 1 ? "" : "  (" + ranks_text(groups[i].second) + ")");
  if (groups.size() > most)
    text += fmt::format("{:<12}... and {} more; --json has all\n", "", groups.size() - most);
}

std::string directory_text(const DirectoryFacts& facts) {
  if (!facts.problem.empty()) return fmt::format("{}: {}", facts.path, facts.problem);
  return fmt::format("{}: {}, {:.0f} GiB free, {}; {}", facts.path, facts.type,
                     facts.free_bytes / gibibyte,
                     facts.lock_problem.empty() ? "locks hold" : "no locks", facts.transfers);
}

}  // namespace

std::string report_text(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end) {
  std::string text;
  add_lines(text, "program", ranks, [](const RankFacts& rank) { return rank.program; });
  text += fmt::format("{:<12}{} on {} node(s)\n", "ranks", ranks.size(), node_count(ranks));
  add_lines(text, "processor", ranks, [](const RankFacts& rank) {
    return fmt::format("{}, {} hardware threads per node", rank.isa, rank.hardware);
  });
  add_lines(text, "cores", ranks, [](const RankFacts& rank) {
    return rank.omp.empty() ? rank.binding
                            : fmt::format("{}, OMP_NUM_THREADS={}", rank.binding, rank.omp);
  });
  add_lines(text, "memory", ranks, [](const RankFacts& rank) {
    return fmt::format("{} per node, of {}{}", size_text(rank.memory), rank.memory_of,
                       rank.process_memory < 0.0
                           ? ""
                           : fmt::format("; {} per process", size_text(rank.process_memory)));
  });
  add_lines(text, "GPUs", ranks, [](const RankFacts& rank) {
    if (!rank.gpus.empty()) return fmt::format("{} x {}", rank.gpus.size(), rank.gpus.front());
    return std::string(rank.gpu_code ? "none found" : "this program has no GPU code");
  });
  for (std::size_t i = 0; i < ranks.front().directories.size(); ++i)
    add_lines(text, i == 0 ? "directories" : "", ranks,
              [i](const RankFacts& rank) { return directory_text(rank.directories[i]); });
  if (!job_end.empty()) text += fmt::format("{:<12}{}\n", "time", job_end);
  text += '\n';
  if (findings.empty()) return text + "Nothing is wrong.\n";
  for (const Finding& finding : findings)
    text += fmt::format("{}: {}.\n  {}.\n", finding.problem ? "PROBLEM" : "note", finding.text,
                        finding.remedy);
  return text;
}

std::string report_json(const std::vector<RankFacts>& ranks, const std::vector<Finding>& findings,
                        const std::string& job_end) {
  nlohmann::ordered_json json = {{"ranks", ranks}, {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& finding : findings)
    json["findings"].push_back(
        {{"problem", finding.problem}, {"text", finding.text}, {"remedy", finding.remedy}});
  json["job_end"] = job_end;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace triax::doctor

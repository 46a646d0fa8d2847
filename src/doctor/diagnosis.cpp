// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/diagnosis.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/process/process_limits.hpp"

namespace triax::doctor {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double gibibyte = 1024.0 * mebibyte;

// Text of ascending rank numbers: "ranks 0-3, 8".
std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back(end - i == 1 ? std::to_string(ranks[i])
                                  : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranges, ", "));
}

using Value = std::function<std::string(const RankFacts&)>;

// Ranks grouped by `value`, the largest group first.
std::vector<std::pair<std::string, std::vector<int>>> by_value(const std::vector<RankFacts>& ranks,
                                                               const Value& value) {
  std::map<std::string, std::vector<int>> sorted;
  for (const RankFacts& rank : ranks) sorted[value(rank)].push_back(rank.rank);
  std::vector<std::pair<std::string, std::vector<int>>> all(sorted.begin(), sorted.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.second.size(); });
  return all;
}

std::string differing(const std::vector<RankFacts>& ranks, const Value& value) {
  std::vector<std::string> parts;
  for (const auto& [text, of] : by_value(ranks, value))
    parts.push_back(fmt::format("{} on {}", text, ranks_text(of)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool differs(const std::vector<RankFacts>& ranks, const Value& value) {
  return by_value(ranks, value).size() > 1;
}

int node_count(const std::vector<RankFacts>& ranks) {
  std::set<std::string> hosts;
  for (const RankFacts& rank : ranks) hosts.insert(rank.host);
  return static_cast<int>(hosts.size());
}

// Ranks for which `holds`, ascending.
std::vector<int> ranks_where(const std::vector<RankFacts>& ranks,
                             const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> found;
  for (const RankFacts& rank : ranks)
    if (holds(rank)) found.push_back(rank.rank);
  return found;
}

using Ranks = const std::vector<RankFacts>&;
using Findings = std::vector<Finding>;

void check_program(Ranks ranks, Findings& found) {
  const Value program = [](const RankFacts& rank) { return rank.program; };
  if (differs(ranks, program))
    found.push_back({true, "ranks run different programs: " + differing(ranks, program),
                     "Start one program on all ranks: the same path on a file system that all "
                     "nodes share"});
  const Value isa = [](const RankFacts& rank) { return rank.isa; };
  if (differs(ranks, isa))
    found.push_back({false, "processors differ: " + differing(ranks, isa),
                     "All ranks use the lowest of these ISA levels. Ask for nodes of one kind for "
                     "full speed (sbatch --constraint)"});
}

void check_cores(Ranks ranks, Findings& found) {
  const auto crowded =
      ranks_where(ranks, [](const RankFacts& rank) { return rank.node_ranks > rank.cores; });
  if (!crowded.empty()) {
    const RankFacts& one = ranks[static_cast<std::size_t>(crowded.front())];
    found.push_back({true,
                     fmt::format("{} ranks share {} core(s) on {} ({})", one.node_ranks, one.cores,
                                 one.host, ranks_text(crowded)),
                     "Start fewer ranks per node, or ask for more cores: --cpus-per-task, and no "
                     "binding to one core (mpiexec -bind-to none, srun --cpu-bind=cores)"});
  }
  const auto idle = ranks_where(ranks, [](const RankFacts& rank) {
    return rank.node_ranks * rank.allowed < rank.hardware / 2 && rank.node_ranks <= rank.cores;
  });
  if (!idle.empty()) {
    const RankFacts& one = ranks[static_cast<std::size_t>(idle.front())];
    found.push_back({false,
                     fmt::format("ranks may use {} of {}'s {} hardware threads each ({})",
                                 one.allowed, one.host, one.hardware, ranks_text(idle)),
                     "If the node is yours alone, raise --cpus-per-task (srun) or drop the "
                     "launcher's binding"});
  }
  const Value omp = [](const RankFacts& rank) {
    return rank.omp.empty() ? std::string("not set") : rank.omp;
  };
  if (differs(ranks, omp))
    found.push_back(
        {true, "OMP_NUM_THREADS differs: " + differing(ranks, omp),
         "Export it to all ranks, or to none: each rank then takes its share of cores"});
}

void check_memory(Ranks ranks, Findings& found) {
  const auto tight = ranks_where(ranks, [](const RankFacts& rank) {
    return rank.process_memory >= 0.0 && rank.process_memory < 4.0 * gibibyte;
  });
  if (!tight.empty()) {
    const RankFacts& one = ranks[static_cast<std::size_t>(tight.front())];
    found.push_back({one.process_memory < 0.5 * gibibyte,
                     fmt::format("a process may hold {} ({})", size_text(one.process_memory),
                                 ranks_text(tight)),
                     one.process_remedy});
  }
  const auto small = ranks_where(ranks, [](const RankFacts& rank) {
    return rank.node_ranks > 1 && rank.shared_memory < 64.0 * mebibyte * rank.node_ranks;
  });
  if (!small.empty()) {
    const RankFacts& one = ranks[static_cast<std::size_t>(small.front())];
    const std::string size =
        one.shared_memory < 0.0 ? "is not there" : "has " + size_text(one.shared_memory) + " free";
    found.push_back(
        {false,
         fmt::format("/dev/shm {} for {} ranks ({})", size, one.node_ranks, ranks_text(small)),
         "Messages within the node may fall back to MPI, and MPI itself may fail. In a "
         "container raise it: --shm-size, or bind the host's /dev/shm"});
  }
}

void check_limits(Ranks ranks, Findings& found) {
  const auto few = ranks_where(
      ranks, [](const RankFacts& rank) { return rank.open_files >= 0 && rank.open_files < 1024; });
  if (!few.empty())
    found.push_back(
        {false,
         fmt::format("at most {} open files ({})",
                     ranks[static_cast<std::size_t>(few.front())].open_files, ranks_text(few)),
         "Raise it for data sets of many files: ulimit -n 65536"});
}

void check_gpus(Ranks ranks, Findings& found) {
  const auto unused =
      ranks_where(ranks, [](const RankFacts& rank) { return rank.gpu_nodes && !rank.gpu_code; });
  if (!unused.empty())
    found.push_back(
        {false,
         fmt::format("the node has NVIDIA GPUs, but this program has no code for them ({})",
                     ranks_text(unused)),
         "Build the preset cuda (jobs/guides/gpus.md)"});
  const auto unseen = ranks_where(ranks, [](const RankFacts& rank) {
    return rank.gpu_nodes && rank.gpu_code && rank.gpus.empty();
  });
  if (!unseen.empty())
    found.push_back(
        {true,
         fmt::format("the node has NVIDIA GPUs, but no rank finds one ({})", ranks_text(unseen)),
         "Ask for them (--gpus-per-node), look at CUDA_VISIBLE_DEVICES, and compare "
         "the driver with the CUDA version of triax --version"});
  const Value count = [](const RankFacts& rank) { return fmt::format("{}", rank.gpus.size()); };
  if (unused.empty() && unseen.empty() && differs(ranks, count))
    found.push_back(
        {true, "ranks find different numbers of GPUs: " + differing(ranks, count),
         "Give every rank the same number: --gpus-per-node, or --gpus-per-task for all"});
}

void check_directory(Ranks ranks, std::size_t index, Findings& found) {
  const auto of = [index](const RankFacts& rank) -> const DirectoryFacts& {
    return rank.directories[index];
  };
  const DirectoryFacts& first = of(ranks.front());
  const auto unwritable =
      ranks_where(ranks, [&](const RankFacts& rank) { return !of(rank).problem.empty(); });
  if (!unwritable.empty()) {
    const DirectoryFacts& one = of(ranks[static_cast<std::size_t>(unwritable.front())]);
    found.push_back({true,
                     fmt::format("{} cannot be written: {} ({})", one.path, one.problem,
                                 ranks_text(unwritable)),
                     "Name a directory that all ranks can write"});
    return;
  }
  const auto blind = ranks_where(ranks, [&](const RankFacts& rank) { return !of(rank).seen; });
  if (!blind.empty())
    found.push_back(
        {true,
         fmt::format("{} is another directory on {} than on rank 0", first.path, ranks_text(blind)),
         "Set run.directory and checkpoint.directory to a file system that all nodes "
         "share. For offload alone a node's own disk is right"});
  if (!first.lock_problem.empty())
    found.push_back({false, fmt::format("{}: {}", first.path, first.lock_problem),
                     "Two runs at once in that directory cannot be detected: start one at a time"});
  if (first.free_bytes < gibibyte)
    found.push_back({true, fmt::format("{} has {} free", first.path, size_text(first.free_bytes)),
                     "A checkpoint takes about 12 bytes per parameter. Free some space"});
  if (first.type == "tmpfs")
    found.push_back({false, first.path + " lies in memory (tmpfs)",
                     "What is written there counts as memory of the job and goes with the node"});
}

void check_clocks(Ranks ranks, Findings& found) {
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, &RankFacts::clock);
  constexpr double tolerable = 1.0;
  if (most->clock - least->clock > tolerable)
    found.push_back({false,
                     fmt::format("clocks differ by {:.1f} s: {} is behind {}",
                                 most->clock - least->clock, least->host, most->host),
                     "Files may look older than they are. Have the nodes keep time (chrony, ntp)"});
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

std::vector<Finding> findings(const std::vector<RankFacts>& ranks) {
  std::vector<Finding> found;
  check_program(ranks, found);
  check_cores(ranks, found);
  check_memory(ranks, found);
  check_gpus(ranks, found);
  for (std::size_t i = 0; i < ranks.front().directories.size(); ++i)
    check_directory(ranks, i, found);
  check_clocks(ranks, found);
  check_limits(ranks, found);
  std::ranges::stable_sort(found, std::greater(), &Finding::problem);
  return found;
}

bool has_problem(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, &Finding::problem);
}

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

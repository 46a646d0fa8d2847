// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/diagnosis.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "kernels/base/process/process_limits.hpp"
#include "src/comm/interface/rank_ranges.hpp"
#include "src/doctor/rank_groups.hpp"

namespace triax::doctor {
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double gibibyte = 1024.0 * mebibyte;

std::string differing(const std::vector<RankFacts>& ranks, const Value& value) {
  std::vector<std::string> parts;
  for (const auto& [text, of] : by_value(ranks, value))
    parts.push_back(fmt::format("{} on {}", text, ranks_text(of)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool differs(const std::vector<RankFacts>& ranks, const Value& value) {
  return by_value(ranks, value).size() > 1;
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
         "Messages within the node may fall back to MPI, and MPI itself may fail. In a container "
         "raise it: --shm-size, or bind the host's /dev/shm"});
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
         "Ask for them (--gpus-per-node), look at CUDA_VISIBLE_DEVICES, and compare the driver "
         "with the CUDA version of triax --version"});
  const Value count = [](const RankFacts& rank) { return fmt::format("{}", rank.gpus.size()); };
  if (unused.empty() && unseen.empty() && differs(ranks, count))
    found.push_back(
        {true, "ranks find different numbers of GPUs: " + differing(ranks, count),
         "Give every rank the same number: --gpus-per-node, or --gpus-per-task for all"});
}

// Free space of a directory on each rank: it may be a disk of the node.
void check_room(Ranks ranks, std::size_t index, Findings& found) {
  const auto of = [index](const RankFacts& rank) -> const DirectoryFacts& {
    return rank.directories[index];
  };
  const std::string& path = of(ranks.front()).path;
  const auto full =
      ranks_where(ranks, [&](const RankFacts& rank) { return of(rank).free_bytes < gibibyte; });
  if (!full.empty())
    found.push_back(
        {true,
         fmt::format("{} has {} free ({})", path,
                     size_text(of(ranks[static_cast<std::size_t>(full.front())]).free_bytes),
                     ranks_text(full)),
         "A checkpoint takes about 12 bytes per parameter. Free some space"});
  const auto in_memory =
      ranks_where(ranks, [&](const RankFacts& rank) { return of(rank).type == "tmpfs"; });
  if (!in_memory.empty())
    found.push_back({false,
                     fmt::format("{} lies in memory (tmpfs, {})", path, ranks_text(in_memory)),
                     "What is written there counts as memory of the job and goes with the node"});
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
         "Set run.directory and checkpoint.directory to a file system that all nodes share. For "
         "offload alone a node's own disk is right"});
  const auto unlocked =
      ranks_where(ranks, [&](const RankFacts& rank) { return !of(rank).lock_problem.empty(); });
  if (!unlocked.empty())
    found.push_back({false,
                     fmt::format("{}: {} ({})", first.path,
                                 of(ranks[static_cast<std::size_t>(unlocked.front())]).lock_problem,
                                 ranks_text(unlocked)),
                     "Two runs at once in that directory cannot be detected: start one at a time"});
  check_room(ranks, index, found);
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

}  // namespace triax::doctor

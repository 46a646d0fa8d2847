// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/own_cores.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "benchmarks/support/node_memory.hpp"
#include "kernels/base/process/host_name.hpp"
#include "src/comm/launch/isa_of_job.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/comm/topology/topology.hpp"
#include "src/launch/threads.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax::benchmark {
namespace {

template <class Number>
Number over_ranks(Number value, MPI_Datatype type, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, op, MPI_COMM_WORLD);
  return value;
}

Ranks settle(int threads, MemorySpace space) {
  check_launch(MPI_COMM_WORLD);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.all);
  MPI_Comm node = ranks_of_own_node();
  MPI_Comm_size(node, &ranks.of_node);
  const CoreShare share = share_of_cores(node);
  MPI_Comm_free(&node);
  ranks.threads = threads > 0 ? threads : threads_asked() > 0 ? threads_asked() : share.cores;
  ranks.pinned = bind_to_cores(share, space, threads).pinned;
  ranks.code = agree_on_isa(MPI_COMM_WORLD);
  ranks.nodes = static_cast<int>(std::lround(over_ranks(1.0 / ranks.of_node, MPI_DOUBLE, MPI_SUM)));
  const double cores = std::min<double>(ranks.threads, double(share.of_node) / ranks.of_node);
  ranks.cores = std::max(1, static_cast<int>(std::lround(over_ranks(cores, MPI_DOUBLE, MPI_SUM))));
  const int beyond =
      ranks.threads > share.cores || ranks.threads * ranks.of_node > share.of_node ? 1 : 0;
  if (over_ranks(beyond, MPI_INT, MPI_MAX) == 1 && ranks.rank == 0)
    fmt::print(
        stderr,
        "WARNING: {} thread(s) a rank on {}, {} rank(s) on its node: threads share cores, and "
        "nothing is pinned (physical cores count, and those that the launcher binds a rank "
        "to). Leave --threads out, or start fewer ranks\n",
        ranks.threads, share.text(), ranks.of_node);
  return ranks;
}

struct Processor {
  std::string name = "unknown";
  std::size_t sockets = 1;
};

Processor processor() {
  Processor found;
  std::set<std::string> sockets;
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) found.name = line.substr(colon + 2);
    if (line.starts_with("physical id")) sockets.insert(line.substr(colon + 2));
  }
  found.sockets = std::max<std::size_t>(1, sockets.size());
  return found;
}

// The chosen word of "always [madvise] never".
std::string huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(file, text);
  const auto begin = text.find('['), end = text.find(']');
  return begin == std::string::npos || end == std::string::npos
             ? "unknown"
             : text.substr(begin + 1, end - begin - 1);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

}  // namespace

OwnCores::OwnCores(int threads, MemorySpace space)
    : ranks_(settle(threads, space)), runtime_(ranks_.threads) {}

void OwnCores::require_one_rank() const {
  if (ranks_.all > 1)
    throw UsageError("this benchmark takes one rank", "", "Start it without mpiexec");
}

void OwnCores::print_machine(const std::string& devices) const {
  if (ranks_.rank != 0) return;
  const Processor own = processor();
  nlohmann::ordered_json line = {
      {"benchmark", "machine"}, {"host", host_name()},
      {"processor", own.name},  {"sockets", own.sockets},
      {"isa", ranks_.code},     {"triax", fmt::format("{}, commit {}", version, commit())},
      {"mpi", mpi_library()},   {"huge_pages", huge_pages()},
      {"date", today()},        {"nodes", ranks_.nodes},
      {"ranks", ranks_.all},    {"threads", ranks_.threads},
      {"cores", ranks_.cores},  {"pinned", ranks_.pinned}};
  if (!devices.empty()) line["devices"] = devices;
  std::cout << line.dump() << std::endl;
}

}  // namespace triax::benchmark

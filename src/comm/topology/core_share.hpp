#pragma once
// How the cores of a node are divided among its ranks: arithmetic, without MPI or hwloc.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace triax {

/// One bit a hardware thread, by the system's number; in 64-bit words for MPI.
constexpr std::size_t max_hardware_threads = 8192;
using ThreadMask = std::array<std::uint64_t, max_hardware_threads / 64>;

inline bool has(const ThreadMask& mask, std::size_t thread) {
  return (mask[thread / 64] >> thread % 64 & 1) != 0;
}

/// The hardware threads of each core, neighbours beside each other.
using Cores = std::vector<std::vector<int>>;

/// The cores of its node that a rank computes on.
struct CoreShare {
  int cores = 1;    // of this rank, one thread on each
  int of_node = 1;  // physical ones that any rank of the node may use, cut to the quota
  Cores own_cores;  // those; empty where the rank shares its cores with others and is
                    // better left unbound
  bool own() const { return !own_cores.empty(); }
  std::vector<int> threads() const;  // hardware threads of its own cores, ascending
  /// The first so many of its cores.
  CoreShare first(int count) const;
  std::string text() const;  // "2 of the node's 8 cores (hardware threads 0-1)"
};

/// The run [first, second) of `count` things that `index` of `sharers` gets: all as many, for what
/// ranks do in step takes as long as the slowest; what is left over lies between the runs.
std::pair<int, int> equal_run(int count, int index, int sharers);

/// What `rank` gets of `cores`, all that its node's ranks may use together: masks[r] says which
/// hardware threads rank r may run on, `quota` for how many CPUs there is time. Ranks that may use
/// the same cores, and nobody else a part of them, get an equal run each; else a rank gets a
/// number, and never more than its part of the cores that it may use.
CoreShare share_of_masks(const Cores& cores, const std::vector<ThreadMask>& masks, int rank,
                         int quota);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the cores of a node among its ranks: arithmetic, without MPI or hwloc.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace triax {

/// One bit per hardware thread, by the system's number; 64-bit words so that MPI can send it.
constexpr std::size_t max_hardware_threads = 8192;
using ThreadMask = std::array<std::uint64_t, max_hardware_threads / 64>;

inline bool has(const ThreadMask& mask, std::size_t thread) {
  return (mask[thread / 64] >> thread % 64 & 1) != 0;
}

/// The hardware threads of each core; neighbouring cores are adjacent.
using Cores = std::vector<std::vector<int>>;

/// The cores of its node that one rank computes on.
struct CoreShare {
  int cores = 1;    // number of this rank's cores, one compute thread on each
  int of_node = 1;  // physical cores that all ranks of the node may use together, at most the quota
  Cores own_cores;  // the cores themselves; empty if shared with others: leave the rank unbound
  bool own() const { return !own_cores.empty(); }
  std::vector<int> threads() const;  // hardware threads of its own cores, ascending
  /// This share cut to its first `count` cores.
  CoreShare first(int count) const;
  std::string text() const;  // "2 of the node's 8 cores (hardware threads 0-1)"
};

/// Range [first, second) of `count` items for sharer `index` of `sharers`. All ranges have the same
/// length, since ranks in step are as slow as the slowest; leftover items lie between the ranges.
std::pair<int, int> equal_run(int count, int index, int sharers);

/// Share of `rank` in `cores`, all cores its node's ranks may use together. masks[r]: hardware
/// threads rank r may run on. `quota`: CPUs the cgroup quota allows. Ranks with the same mask,
/// which overlaps no other, get equal ranges of cores of their own. Otherwise a rank gets only a
/// number of cores, at most its fair share of the cores it may use.
CoreShare share_of_masks(const Cores& cores, const std::vector<ThreadMask>& masks, int rank,
                         int quota);

}  // namespace triax

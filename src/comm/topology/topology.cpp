// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/topology.hpp"

#include <hwloc.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "src/comm/topology/cgroup.hpp"

namespace triax {
namespace {

struct FreeTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, FreeTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

enum class Beside { nothing, devices, caches };  // objects to load beside the cores

Topology load_topology(Beside wanted = Beside::nothing) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error("hwloc does not start (out of memory)");
  Topology topology(raw);
  // Cores only other ranks of the node may use count too. On x86, hwloc 2.0 to 2.4 would query each
  // hardware thread by moving there: every rank would visit all of them and stay on the last.
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020500
  flags |= HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#elif HWLOC_API_VERSION >= 0x00020100
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
  hwloc_topology_set_flags(raw, flags);
  if (wanted == Beside::devices) {
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  } else {
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (wanted == Beside::caches)
      hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  if (hwloc_topology_load(raw) != 0)
    throw Error("the cores of this machine are not known", "hwloc cannot read its topology",
                "Check that /sys and /proc are mounted");
  return topology;
}

// Hardware threads this process may run on: its binding, else all the system allows.
ThreadMask own_threads(hwloc_topology_t topology) {
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) != 0 ||
      hwloc_bitmap_iszero(bound.get()))
    hwloc_bitmap_copy(bound.get(), hwloc_topology_get_allowed_cpuset(topology));
  ThreadMask mask{};
  for (std::size_t thread = 0; thread < max_hardware_threads; ++thread)
    if (hwloc_bitmap_isset(bound.get(), static_cast<unsigned>(thread)))
      mask[thread / 64] |= std::uint64_t{1} << thread % 64;
  return mask;
}

// The hardware threads in `mask` of each core, without cores that have none; neighbouring cores are
// adjacent.
Cores cores_in(hwloc_topology_t topology, const ThreadMask& mask) {
  Cores cores;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
    std::vector<int> threads;
    for (std::size_t thread = 0; thread < max_hardware_threads; ++thread)
      if (has(mask, thread) && hwloc_bitmap_isset(core->cpuset, static_cast<unsigned>(thread)) != 0)
        threads.push_back(static_cast<int>(thread));
    if (!threads.empty()) cores.push_back(std::move(threads));
  }
  if (!cores.empty()) return cores;
  // Some virtual machines report no cores: each hardware thread then counts as one.
  for (std::size_t thread = 0; thread < max_hardware_threads; ++thread)
    if (has(mask, thread)) cores.push_back({static_cast<int>(thread)});
  return cores;
}

}  // namespace

std::vector<int> nearness(const std::vector<DevicePlace>& places) {
  const Topology topology = load_topology(Beside::devices);
  const ThreadMask mask = own_threads(topology.get());
  std::vector<int> near;
  for (const DevicePlace& place : places) {
    const auto part = [&](std::int64_t parts, std::int64_t of) {
      return static_cast<unsigned>(place.address / parts % of);
    };
    const hwloc_obj_t device = hwloc_get_pcidev_by_busid(topology.get(), part(32 * 256, 1 << 16),
                                                         part(32, 256), part(1, 32), 0);
    const hwloc_obj_t owner =
        device != nullptr ? hwloc_get_non_io_ancestor_obj(topology.get(), device) : nullptr;
    int own = 0, there = 0;
    for (unsigned thread = 0; thread < max_hardware_threads; ++thread) {
      if (!has(mask, thread)) continue;
      ++own;
      if (owner != nullptr && hwloc_bitmap_isset(owner->cpuset, thread) != 0) ++there;
    }
    near.push_back(own > 0 ? 1000 * there / own : 0);
  }
  return near;
}

namespace {

constexpr std::string_view here = "the ranks of a node";

// Every rank's own_threads(), by rank of `node`.
std::vector<ThreadMask> threads_of_ranks(hwloc_topology_t topology, MPI_Comm node) {
  int size = 1;
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size", here);
  const ThreadMask own = own_threads(topology);
  std::vector<ThreadMask> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  const int words = static_cast<int>(own.size());
  check_mpi(MPI_Iallgather(own.data(), words, MPI_UINT64_T, all.data(), words, MPI_UINT64_T, node,
                           &request),
            "MPI_Iallgather", here);
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Iallgather", here);
  return all;
}

}  // namespace

CoreShare share_of_cores(MPI_Comm node) {
  const Topology topology = load_topology();
  const std::vector<ThreadMask> masks = threads_of_ranks(topology.get(), node);
  int rank = 0;
  check_mpi(MPI_Comm_rank(node, &rank), "MPI_Comm_rank", here);
  ThreadMask together{};
  for (const ThreadMask& mask : masks)
    for (std::size_t word = 0; word < mask.size(); ++word) together[word] |= mask[word];
  return share_of_masks(cores_in(topology.get(), together), masks, rank, cpu_quota());
}

bool pin_to(const CoreShare& share) {
  const Topology topology = load_topology();
  const Bitmap threads(hwloc_bitmap_alloc());
  for (const int thread : share.threads())
    hwloc_bitmap_set(threads.get(), static_cast<unsigned>(thread));
  return share.own() &&
         hwloc_set_cpubind(topology.get(), threads.get(), HWLOC_CPUBIND_PROCESS) == 0;
}

std::int64_t cache_bytes(CachesOf which) {
  const Topology topology = load_topology(Beside::caches);
  const ThreadMask mask = own_threads(topology.get());
  std::int64_t bytes = 0;
  for (const hwloc_obj_type_t level : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                       HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE})
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology.get(), level, cache)) != nullptr;)
      for (unsigned thread = 0; thread < max_hardware_threads; ++thread)
        if ((which == CachesOf::node || has(mask, thread)) &&
            hwloc_bitmap_isset(cache->cpuset, thread) != 0) {
          bytes += static_cast<std::int64_t>(cache->attr->cache.size);
          break;
        }
  return bytes;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores, caches and device distances of this node, as hwloc reports them.
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "src/comm/topology/core_share.hpp"

namespace triax {

/// Default share of cores of this rank: share_of_masks() over the bindings of the ranks of `node`
/// and this process's cgroup CPU quota. Collective over `node`; waits without spinning.
CoreShare share_of_cores(MPI_Comm node);

/// Binds all threads of this process, present and future, to the cores of `share`. False if `share`
/// has no cores of its own or the system refuses.
bool pin_to(const CoreShare& share);

/// Total bytes of the data caches, over all levels: of the hardware threads this process may use,
/// or of the whole node. 0 if the system reports no caches.
enum class CachesOf : std::uint8_t { process, node };
std::int64_t cache_bytes(CachesOf which = CachesOf::process);

/// Nearness of this process to each device of `places`, in thousandths: the fraction of its
/// hardware threads that belong to the device's package or NUMA node. 0 if the device's location is
/// unknown.
std::vector<int> nearness(const std::vector<DevicePlace>& places);

}  // namespace triax

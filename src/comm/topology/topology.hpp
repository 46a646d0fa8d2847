#pragma once
// Which cores the ranks of a node may run on.
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "src/comm/topology/core_share.hpp"

namespace triax {

/// What this rank gets when the user says nothing: share_of_masks with the bindings of
/// `node`, the ranks that share it, and the CPU quota of its cgroups. Collective over them, without
/// spinning.
CoreShare share_of_cores(MPI_Comm node);

/// Binds all threads of this process, and those that they start, to the cores of `share`, which are
/// its own. False where the system does not let it.
bool pin_to(const CoreShare& share);

/// Bytes that the data caches of the hardware threads which this process may use, or those of the
/// whole node, hold together, of all levels; 0 where the system names none.
enum class CachesOf : std::uint8_t { process, node };
std::int64_t cache_bytes(CachesOf which = CachesOf::process);

/// How near this process is to each device of `places`: of the hardware threads that it may use,
/// those of the device's own package or NUMA node, in parts of 1000; 0 where nothing is known of
/// the device.
std::vector<int> nearness(const std::vector<DevicePlace>& places);

}  // namespace triax

#pragma once
// Which cores the ranks of a node may run on.
#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace triax {

/// Physical cores of this node that at least one rank of `node` (the ranks that share it) may use:
/// the union of their CPU bindings, cut to the container's CPU quota where there is one. At
/// least 1. Collective over `node`, without spinning.
int cores_of_node(MPI_Comm node);

/// How near this process is to each device of `places`, PCI addresses as device_backend::place()
/// has them: of the hardware threads that it may use, those of the device's own package or NUMA
/// node, in parts of 1000; 0 where nothing is known of the device.
std::vector<int> nearness(const std::vector<std::int64_t>& places);

/// CPUs of a Linux cgroup's "cpu.max" ("QUOTA PERIOD" in microseconds, or "max PERIOD"), rounded up
/// to whole ones; `unlimited` where there is no limit or the text is not of that form.
int cpus_of_quota(std::string_view cpu_max, int unlimited);

}  // namespace triax

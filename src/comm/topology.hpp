#pragma once
// Which cores the ranks of a node may run on.
#include <mpi.h>

#include <string_view>

namespace triax {

/// Physical cores of this node that at least one rank of `node` (the ranks that share it) may use:
/// the union of their CPU bindings, cut to the container's CPU quota where there is one. At
/// least 1. Collective over `node`, without spinning.
int cores_of_node(MPI_Comm node);

/// CPUs of a Linux cgroup's "cpu.max" ("QUOTA PERIOD" in microseconds, or "max PERIOD"), rounded up
/// to whole ones; `unlimited` where there is no limit or the text is not of that form.
int cpus_of_quota(std::string_view cpu_max, int unlimited);

}  // namespace triax

#pragma once
// Which cores the ranks of a node may run on.
#include <mpi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triax {

/// The cores of its node that a rank computes on.
struct CoreShare {
  int cores = 1;             // of this rank, one thread on each
  int of_node = 1;           // of all ranks of the node together
  std::vector<int> threads;  // hardware threads of those cores, ascending; empty where the rank
                             // shares its cores with others and is better left unbound
  bool own() const { return !threads.empty(); }
  std::string text() const;  // "2 of the node's 8 cores (hardware threads 0-1)"
};

/// What this rank gets when the user says nothing: of the cores that it may use, cut to the
/// container's CPU quota, an equal run for each rank that may use the same ones. Collective over
/// `node`, the ranks that share it, without spinning.
CoreShare share_of_cores(MPI_Comm node);

/// Binds all threads of this process, and those that they start, to the cores of `share`, which are
/// its own. False where the system does not let it.
bool pin_to(const CoreShare& share);

/// The run [first, second) of `count` things that `index` of `sharers` gets; runs differ by one at
/// most.
std::pair<int, int> equal_run(int count, int index, int sharers);

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

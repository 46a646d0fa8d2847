// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much memory there is for the ranks of a machine, and for one of them.
#include <limits>
#include <string>

#include "kernels/base/tensor.hpp"
#include "src/comm/topology/cgroup.hpp"

namespace triax {

/// Bytes, and the name of what has them: "this machine's memory", "the cgroup ...". Infinite: no
/// limit.
struct MemoryLimit {
  double bytes = std::numeric_limits<double>::infinity();
  std::string what = "this machine's memory";
  MemorySpace space = MemorySpace::host;  // a GPU's memory, or the machine's
  std::string remedy = {};                // of a limit that can be raised: how
};

/// Memory that the ranks on this machine share: the least of its memory (MemTotal), and of the
/// limits of this process's cgroup and those around it: memory.max (cgroup v2) and
/// memory.limit_in_bytes (v1).
MemoryLimit node_limit(const SystemFiles& system = {});

/// Bytes that libraries map in a run beside their resident memory, which counts for a process's
/// limits only: MPI's shared memory, oneDNN's generated kernels, stacks, malloc's spare room.
/// Measured: 28 MiB on one rank, 37 MiB on four, and the 64 MiB that malloc reserves where a second
/// thread asks for memory at the same time. Without it oneDNN ends in a segmentation fault.
constexpr double mapped_by_libraries = 112.0 * 1024.0 * 1024.0;

/// Memory that this process may hold beside unused mappings, and what libraries will map: by
/// its address space (RLIMIT_AS, ulimit -v) and its data (RLIMIT_DATA, ulimit -d). Comparable to a
/// rank's bytes in a MemoryPlan, which count the program as far as it is in memory.
MemoryLimit process_limit(const SystemFiles& system = {});

/// Memory that the ranks on this process's GPU share: what is free there. No limit where they
/// compute on the host, or this machine has none (a plan).
MemoryLimit gpu_limit(MemorySpace space);

/// The lesser of both, for a job that is not a plan yet.
MemoryLimit memory_limit(const SystemFiles& system = {});

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory limits of the ranks of a machine, and of one process.
#include <limits>
#include <string>

#include "kernels/base/tensor.hpp"
#include "src/comm/topology/cgroup.hpp"

namespace triax {

/// A limit in bytes (infinite: none) and its name: "this machine's memory", "the cgroup ...".
struct MemoryLimit {
  double bytes = std::numeric_limits<double>::infinity();
  std::string what = "this machine's memory";
  MemorySpace space = MemorySpace::host;  // a GPU's memory, or the machine's
  std::string remedy = {};                // how to raise the limit; empty: it cannot be raised
};

/// Memory that the ranks on this machine share: the least of MemTotal and the limits of this
/// process's cgroup and its parents (cgroup v2: memory.max; v1: memory.limit_in_bytes).
MemoryLimit node_limit(const SystemFiles& system = {});

/// Bytes that libraries map in a run beyond their resident memory; they count only against a
/// process's limits: MPI's shared memory, oneDNN's generated kernels, stacks, malloc's reserves.
/// Measured: 28 MiB on one rank, 37 MiB on four, plus the 64 MiB arena of malloc for a second
/// thread. If they are missing, oneDNN ends in a segmentation fault.
constexpr double mapped_by_libraries = 112.0 * 1024.0 * 1024.0;

/// Resident memory that the limits of this process allow: address space (RLIMIT_AS, ulimit -v) and
/// data (RLIMIT_DATA, ulimit -d), less unused mappings and mapped_by_libraries. Comparable to a
/// rank's bytes in a MemoryPlan, which count the resident part of the program.
MemoryLimit process_limit(const SystemFiles& system = {});

/// Free memory of this process's GPU, which the ranks on it share. No limit if `space` is the host
/// or this machine has no GPU (a plan).
MemoryLimit gpu_limit(MemorySpace space);

/// The smaller of node_limit() and process_limit().
MemoryLimit memory_limit(const SystemFiles& system = {});

}  // namespace triax

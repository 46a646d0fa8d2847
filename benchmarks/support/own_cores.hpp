// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores, threads and ISA level of a benchmark's ranks.
#include <string>

#include "kernels/base/tensor.hpp"
#include "kernels/parallel/runtime.hpp"

namespace triax::benchmark {

/// Number of ranks and threads, and what they run on.
struct Ranks {
  int rank = 0, all = 1, of_node = 1, nodes = 1;
  int threads = 1;  // per rank
  int cores = 1;    // physical cores of all ranks, however many threads run on them
  bool pinned = false;
  std::string code;  // ISA level, from agree_on_isa
};

/// Threads, cores and ISA level of every rank: those that `triax train` would take, so that users
/// get what is measured. Starts the kernels. One per process, after MpiSession.
class OwnCores {
 public:
  /// Collective over all ranks of the job. threads: per rank, from the command line; 0: as `triax
  /// train`. Warns of more threads than cores.
  explicit OwnCores(int threads, MemorySpace space = MemorySpace::host);

  const Ranks& ranks() const { return ranks_; }
  /// Throws a UsageError if there are more ranks.
  void require_one_rank() const;

  /// Prints, on rank 0, the line "benchmark":"machine": host, processor, ISA level, commit, MPI,
  /// huge pages, ranks and threads. devices: what computes in place of the host; empty: nothing.
  void print_machine(const std::string& devices = {}) const;

 private:
  Ranks ranks_;
  KernelRuntime runtime_;
};

}  // namespace triax::benchmark

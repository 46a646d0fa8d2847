#pragma once
// What the ranks of a benchmark compute with.
#include <string>

#include "kernels/base/tensor.hpp"
#include "kernels/parallel/runtime.hpp"

namespace triax::benchmark {

/// How many compute, on what.
struct Ranks {
  int rank = 0, all = 1, of_node = 1, nodes = 1;
  int threads = 1;  // of a rank
  int cores = 1;    // physical ones that all ranks compute on, however many threads they have there
  bool pinned = false;
  std::string code;  // of agree_on_isa
};

/// The threads, cores and code of every rank: those that `triax train` would take, so that what is
/// measured is what users get. Starts the kernels. One in a process, behind MpiSession.
class OwnCores {
 public:
  /// Collective over all ranks of the job. `threads`: of a rank, as the command line has it; 0:
  /// what `triax train` takes. More of them than there are cores for are warned of.
  explicit OwnCores(int threads, MemorySpace space = MemorySpace::host);

  const Ranks& ranks() const { return ranks_; }
  /// UsageError where there are more.
  void require_one_rank() const;

  /// Rank 0 prints the line of the benchmark "machine": its machine, what the program was built
  /// from, and how many compute. `devices`: what computes in place of the host; empty: nothing.
  void print_machine(const std::string& devices = {}) const;

 private:
  Ranks ranks_;
  KernelRuntime runtime_;
};

}  // namespace triax::benchmark

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many threads a rank computes with, and on which cores.
#include <string>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// Value of OMP_NUM_THREADS: a number, or OpenMP's list of them, of which the first counts; 0
/// where it says nothing. UsageError where it is neither: OpenMP would go on with another number.
int threads_asked();

/// Threads of a rank of this grid.
int threads_of_rank(const ProcessGrid& grid);

/// As a rank of a run on machines like this one would have; nodes of `ranks` ranks.
int threads_of_planned_rank(int ranks);

/// Where a rank's threads run.
struct CoreBinding {
  bool pinned = false;
  std::string text;  // what was chosen, in words
};

/// Pins this rank to its share of the node's cores, unless the user said otherwise. `threads`: what
/// a command line asks for, which counts before OMP_NUM_THREADS, and are pinned where they are no
/// more than the share has cores; 0: nothing.
CoreBinding bind_to_cores(const CoreShare& share, MemorySpace space, int threads = 0);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Number of compute threads of a rank, and their cores.
#include <string>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// Value of OMP_NUM_THREADS, or the first entry if it is a list; 0 if it is not set. UsageError if
/// it is neither: OpenMP would silently use another number.
int threads_asked();

/// Threads of a rank of this grid.
int threads_of_rank(const ProcessGrid& grid);

/// Threads of a rank in a run on machines like this one with `ranks` ranks per node.
int threads_of_planned_rank(int ranks);

/// Where a rank's threads run.
struct CoreBinding {
  bool pinned = false;
  std::string text;  // description for the log
};

/// Pins this rank to its share of the node's cores, unless the user said otherwise. `threads`: what
/// a command line asks for, which counts before OMP_NUM_THREADS, and are pinned where they are no
/// more than the share has cores; 0: nothing.
CoreBinding bind_to_cores(const CoreShare& share, MemorySpace space, int threads = 0);

}  // namespace triax

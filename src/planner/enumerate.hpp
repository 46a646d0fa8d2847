// SPDX-License-Identifier: Apache-2.0
#pragma once
// All layouts of a job on a number of ranks.
#include <vector>

#include "src/machine/machine.hpp"
#include "src/planner/candidate.hpp"

namespace triax {

/// Grids of `ranks` ranks whose tensor groups stay on a node and divide the heads, stages that have
/// a block, data ranks that divide the global batch; micro-batches that are powers of two;
/// interleaved chunks of equal numbers of blocks; ZeRO-0 to ZeRO-3; no, selective and full
/// recomputation; on GPUs, optimizer state and parameters on the host. gpipe is left out: 1f1b
/// takes its time and holds less.
std::vector<Candidate> enumerate(const Config& job, const Machine& machine, int ranks);

}  // namespace triax

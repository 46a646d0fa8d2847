// SPDX-License-Identifier: Apache-2.0
#pragma once
// Clocks of nodes, which start at different times.
#include <cstdint>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// Nanoseconds by rank to add to its stamps to bring them to the clock of rank 0; on rank 0 only.
/// Ranks of a node share a clock. Between nodes the error is at most half of the shortest of a few
/// round trips. Collective.
std::vector<std::int64_t> clock_offsets(ProcessGrid& grid);

}  // namespace triax

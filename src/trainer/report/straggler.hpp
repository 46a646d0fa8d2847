// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search for a straggler, the rank that the others wait for. A slow rank waits for nobody, so it
// spends the least time on messages.
#include <string>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// Time that ranks have spent on messages of their axes since the run began.
struct MessageShare {
  double mean = 0.0, least = 0.0;  // seconds per rank
  double seconds = 0.0;            // since the run began
};

/// MessageTimes::spent of this rank, summed over axes.
double seconds_on_messages(const ProcessGrid& grid);

/// Whether a rank stands out: ranks spend at least 5% of their time on messages on average, and one
/// of them less than half of the average.
bool one_is_waited_for(const MessageShare& share);

/// Rank with the least seconds.
int rank_of_least(const std::vector<double>& spent);

/// Text that names the rank that stands out; empty if none does. `seconds`: since the run began.
/// Collective.
std::string straggler_text(ProcessGrid& grid, double seconds);

}  // namespace triax

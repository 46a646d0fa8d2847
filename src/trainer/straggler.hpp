#pragma once
// The rank that the others wait for. Who is slow waits for nobody: it spends the least time on
// messages.
#include <string>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// What ranks have spent on messages of their axes since the run began.
struct MessageShare {
  double mean = 0.0, least = 0.0;  // seconds of a rank
  double seconds = 0.0;            // of the run
};

/// Of this rank, on all axes: MessageTimes::spent.
double seconds_on_messages(const ProcessGrid& grid);

/// Whether a rank stands out: ranks spend a twentieth of their time on messages, and one of them
/// less than half of that.
bool one_is_waited_for(const MessageShare& share);

/// The rank of the least, of seconds by rank.
int rank_of_least(const std::vector<double>& spent);

/// Names the rank that stands out; empty where none does. Collective. `seconds`: of the run.
std::string straggler_text(ProcessGrid& grid, double seconds);
/// Rank 0 says that. Collective.
void report_straggler(ProcessGrid& grid, double seconds);

}  // namespace triax

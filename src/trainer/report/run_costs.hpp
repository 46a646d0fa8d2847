// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory and message time that a run has used, logged at its end.
#include <cstdint>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/forecast/job_plan.hpp"

namespace triax {

/// Memory of a process by kind, from its allocations and its peak of resident bytes. The rest of
/// `peak` counts as communication (MPI's, and pages of libraries); 0 where the process did not
/// touch all that it allocated.
KindBytes used_by_kind(KindBytes allocated, std::int64_t peak);
/// Text of that: memory_text, and the allocated bytes that were never resident.
std::string used_text(const KindBytes& used, std::int64_t peak);

/// "messages of the data axis: 3.2 s under way, 0.09 s of them spent on them (97% hidden), 1.2% of
/// 7.4 s"; empty where there were none.
std::string hidden_text(Axis axis, const MessageTimes& times, double seconds);

/// Logs by axis the share of message time that was hidden behind compute, as a mean over ranks.
/// `seconds`: duration of the steps. Collective.
void report_messages(ProcessGrid& grid, double seconds);

/// Memory of the rank that used most of its node's.
struct MemoryReport {
  int rank = 0;
  KindBytes planned, used;
};

/// Logs the memory of the fullest rank, by the kinds of the plan, and returns it, on rank 0.
/// `allocated`: by this rank. Collective.
MemoryReport report_memory(ProcessGrid& grid, const JobPlan& plan, const Allocations& allocated);

}  // namespace triax

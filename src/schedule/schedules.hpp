#pragma once
// Schedules: the order of compute on whole chunks (layer = -1), nothing else.
#include <string>
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

/// All forwards, then all backwards (Huang et al. 2019).
Plans gpipe(const PlanShape& shape);
/// One forward, one backward (PipeDream-flush; Narayanan et al. 2021). One chunk a stage.
Plans one_forward_one_backward(const PlanShape& shape);
/// Interleaved 1F1B over several chunks a stage (Narayanan et al. 2021, Megatron-LM's order).
/// Needs microbatches % stages == 0.
Plans interleaved(const PlanShape& shape);
/// Forwards alone, for evaluation.
Plans forward_only(const PlanShape& shape);

/// A row of the table of schedules a job file may name.
struct ScheduleRow {
  std::string name;
  Plans (*make)(const PlanShape&);
  bool several_chunks;              // may have more than one chunk a stage
  bool microbatches_fill_stages;    // microbatches must be a multiple of stages
};
const std::vector<ScheduleRow>& schedules();

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules: the order of compute on whole chunks (layer = -1), nothing else.
#include <string>
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

/// A row of the table of schedules that a job file may name.
struct ScheduleRow {
  std::string name;
  Plans (*make)(const PlanShape&);  // call make_schedule, which checks the two needs below
  bool several_chunks;              // more than one chunk per stage is allowed
  bool microbatches_fill_stages;    // microbatches must be a multiple of stages
  bool splits_backward = false;     // WeightGradient is apart from Backward
};

/// gpipe        all forwards, then all backwards (Huang et al. 2019)
/// 1f1b         one forward, one backward (PipeDream-flush; Narayanan et al. 2021): stage r of P
///              keeps the frames of at most P - r micro-batches
/// zero-bubble  ZB-H1 (Qi et al. 2023): 1f1b whose weight gradients fill the waits; every stage
/// keeps
///              frames or operands of at most P micro-batches
/// interleaved  1f1b over several chunks a stage (Narayanan et al. 2021, in Megatron-LM's order)
const std::vector<ScheduleRow>& schedules();

/// Names of all schedules.
std::vector<std::string> schedule_names();

/// Beginning of the name of a schedule by hand: "file:ORDER.csv".
inline constexpr const char* schedule_file_prefix = "file:";

/// Row of the schedule `name`; that of a schedule by hand follows from its `order`.
/// std::invalid_argument, with all names, where there is none.
ScheduleRow schedule(const std::string& name, const Plans& order = {});

/// The chunk-level plans of a schedule; one by hand is shape.order. std::invalid_argument where the
/// name is unknown or the shape does not meet the schedule's needs; the text says which number must
/// change to what.
Plans make_schedule(const std::string& name, const PlanShape& shape);

/// Forward-only plans, for evaluation; any shape.
Plans forward_only(const PlanShape& shape);

}  // namespace triax

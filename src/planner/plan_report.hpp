// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output of triax plan: the best layouts as text and JSON.
#include <string>

#include "src/planner/search.hpp"

namespace triax {

/// A search and what it was for.
struct PlanReport {
  const JobToPlan& job;
  const Machine& machine;
  int ranks = 1;
  const Search& search;
};

/// Time and energy of a whole run on the best layout.
struct RunCost {
  double steps = 0.0, days = 0.0, device_hours = 0.0;
  double megawatt_hours = 0.0;  // 0: the machine's watts are unknown
};
RunCost run_cost(const PlanReport& report, double tokens);

/// The job, the number of layouts by fate, a table of the best ones, and of the first memory by
/// kind, bytes by axis and the keys that set it. `tokens` above 0: what training on so many takes.
/// No layout that fits: says so, with the least memory that one would need.
std::string report_text(const PlanReport& report, double tokens = 0.0);

/// {"machine", "ranks", "layouts": {...}, "plans": [{"tensor": ..., "step_seconds": ..., "mfu":
/// ..., "mfu_square": ..., "memory": {...}, "bytes": {...}, "keys": {...}, "verdict": ...}, ...]}
std::string report_json(const PlanReport& report, double tokens = 0.0);

/// A job file: the job at `path`, with the keys of a layout. `target`: path of the file, to which
/// the job is named relative.
std::string job_with(const Candidate& candidate, const JobToPlan& job, const std::string& target);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of a traced run as its plan predicts it.
#include <string>
#include <vector>

#include "src/machine/machine.hpp"
#include "src/plan/step_plan.hpp"
#include "src/schedule/simulate/simulate.hpp"
#include "src/trace/read_trace.hpp"

namespace triax {

/// The plans of the traced job, on the ranks and nodes of the run.
struct TracedJob {
  PlacedConfig config;
  StepPlans plans;
  int stage_of(int rank) const;
};

/// `job_file`: the job.json of the run. Requires a KernelRuntime. UsageError if it cannot be read,
/// or its plan is not the one that was traced.
TracedJob traced_job(const RunTrace& trace, const std::string& job_file);

/// Timelines with intervals and waits. By the figures of a machine, which must have the job's type:
Timeline predicted_by(const TracedJob& job, const Machine& machine);
/// By the run's own mean durations, with messages that take no time: only the order of the plan and
/// the work of each stage make anyone wait.
Timeline replayed(const TracedJob& job, const RunTrace& trace);

}  // namespace triax

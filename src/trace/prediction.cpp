// SPDX-License-Identifier: Apache-2.0
#include "src/trace/prediction.hpp"

#include <algorithm>

#include "src/config/load/load.hpp"
#include "src/price/step_times.hpp"
#include "src/trace/measured_times.hpp"

namespace triax {
namespace {

void check_plan(const TracedJob& job, const RunTrace& trace, const std::string& job_file) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("the trace is not of the job {}", job_file), why,
                     "Trace the run again: the job, or triax itself, has changed since");
  };
  const int ranks = grid_shape(job.config.parallel).size();
  if (std::ssize(trace.ranks) != ranks)
    refuse(fmt::format("it has {} ranks, the job {}", trace.ranks.size(), ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const Plan& plan = job.plans.training[static_cast<std::size_t>(job.stage_of(rank))];
    for (const TracedOp& op : trace.ranks[static_cast<std::size_t>(rank)].ops) {
      const auto at = static_cast<std::size_t>(op.position);
      const std::string planned = at < plan.size() ? text_of(plan[at]) : "no instruction";
      if (planned != op.name)
        refuse(fmt::format("plan position {} of rank {} is \"{}\" in the trace, {} in the plan",
                           op.position, rank, op.name, planned));
    }
  }
}

}  // namespace

int TracedJob::stage_of(int rank) const {
  return grid_shape(config.parallel).coordinate(rank, Axis::pipeline);
}

TracedJob traced_job(const RunTrace& trace, const std::string& job_file) {
  const int ranks = static_cast<int>(trace.ranks.size());
  Config config = load_job_to_plan(job_file, {}, ranks).config;
  config.run.space = trace.on_gpu ? MemorySpace::device : MemorySpace::host;
  TracedJob job{on_nodes(config, trace.ranks_per_node), {}};
  job.plans = step_plans(job.config);
  check_plan(job, trace, job_file);
  return job;
}

Timeline predicted_by(const TracedJob& job, const Machine& machine) {
  const StepTimes times(job.config, machine);
  return simulate(job.plans.training, job.plans.shape, times, true);
}

Timeline replayed(const TracedJob& job, const RunTrace& trace) {
  std::vector<int> stages;
  for (int rank = 0; rank < std::ssize(trace.ranks); ++rank) stages.push_back(job.stage_of(rank));
  return simulate(job.plans.training, job.plans.shape,
                  MeasuredTimes(trace, stages, job.plans.training), true);
}

}  // namespace triax

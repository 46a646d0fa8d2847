// SPDX-License-Identifier: Apache-2.0
#pragma once
// All that is known of a job before it runs.
#include <functional>

#include "src/forecast/memory_plan.hpp"

namespace triax {

struct JobPlan {
  PlacedConfig config;
  std::int64_t program = 0;  // bytes of this process before it allocates, libraries included
  StepPlans steps;
  MemoryPlan memory;
  MessagePlan messages;
};

/// Needs the kernels' runtime, and takes no memory to speak of. UsageError where the schedule
/// cannot be built for the job.
JobPlan plan_job(const PlacedConfig& config);

/// The same, with checkpoint.async decided where the job leaves that open: on where the plan then
/// `fits`, which must say the same on all ranks.
JobPlan plan_job(PlacedConfig config, const std::function<bool(const MemoryPlan&)>& fits);

}  // namespace triax

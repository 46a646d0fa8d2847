#pragma once
// All that is known of a job before it runs.
#include "src/train/memory_plan.hpp"

namespace triax {

struct JobPlan {
  std::int64_t program = 0;  // bytes of this process when the plan was made
  StepPlans steps;
  MemoryPlan memory;
  MessagePlan messages;
};

/// Needs the kernels' runtime, and takes no memory to speak of. UsageError where the schedule
/// cannot be built for the job.
JobPlan plan_job(const Config& config);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything known of a job before it runs.
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

/// Bytes of a process of the job before it allocates, libraries included: this process now, and
/// what they will load. Requires a KernelRuntime.
std::int64_t program_bytes(const PlacedConfig& config);

/// Requires a KernelRuntime; allocates little memory. UsageError if the schedule cannot be built
/// for the job.
JobPlan plan_job(const PlacedConfig& config);

/// As plan_job(config), and decides checkpoint.async if the job leaves it open: on if the plan then
/// `fits`. `fits` must return the same on all ranks.
JobPlan plan_job(PlacedConfig config, const std::function<bool(const MemoryPlan&)>& fits);

}  // namespace triax

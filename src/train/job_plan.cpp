#include "src/train/job_plan.hpp"

#include <utility>

#include "src/train/process_memory.hpp"

namespace triax {

JobPlan plan_job(const PlacedConfig& config) {
  // What libraries take when a step first runs them: code and data that were on disk only, and the
  // kernels that oneDNN generates. Measured on 1 to 8 ranks: 5 to 8 MiB, whatever the model.
  constexpr std::int64_t libraries = 6 << 20;
  const std::int64_t program = resident_bytes() + libraries;
  StepPlans steps = step_plans(config);
  MemoryPlan memory(config, steps, program);
  MessagePlan messages = plan_messages(config, steps);
  return {config, program, std::move(steps), std::move(memory), messages};
}

JobPlan plan_job(PlacedConfig config, const std::function<bool(const MemoryPlan&)>& fits) {
  JobPlan plan = plan_job(config);
  if (config.checkpoint.async != AsyncWrites::where_it_fits || fits(plan.memory)) return plan;
  config.place.copy_fits = false;
  return plan_job(config);
}

}  // namespace triax

#include "src/train/job_plan.hpp"

#include <utility>

#include "src/train/process_memory.hpp"

namespace triax {

JobPlan plan_job(const Config& config) {
  const std::int64_t program = resident_bytes();
  StepPlans steps = step_plans(config);
  MemoryPlan memory(config, steps, program);
  MessagePlan messages = plan_messages(config, steps);
  return {program, std::move(steps), std::move(memory), messages};
}

}  // namespace triax

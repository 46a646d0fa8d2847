#include "src/train/job_plan.hpp"

#include <utility>

#include "src/train/process_memory.hpp"

namespace triax {

LoadedJob on_grid(LoadedJob job, const ProcessGrid& grid) {
  int& size = job.config.zero.shard_size;
  if (size < 0) size = grid.run_within_node(Axis::data);
  return job;
}

JobPlan plan_job(const Config& config) {
  const std::int64_t program = resident_bytes();
  StepPlans steps = step_plans(config);
  MemoryPlan memory(config, steps, program);
  MessagePlan messages = plan_messages(config, steps);
  return {program, std::move(steps), std::move(memory), messages};
}

}  // namespace triax

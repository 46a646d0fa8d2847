#include "src/train/job_plan.hpp"

#include <utility>
#include <vector>

#include "src/train/process_memory.hpp"

namespace triax {

LoadedJob on_grid(LoadedJob job, const ProcessGrid& grid) {
  job.config.run.space = grid.space();
  job.config.run.staged_messages = grid.stages_messages();
  for (const Axis axis : all_axes)
    job.config.run.ranks_sharing[static_cast<std::size_t>(axis)] = grid.ranks_sharing(axis);
  int& size = job.config.zero.shard_size;
  if (size < 0) size = grid.run_within_node(Axis::data);
  return job;
}

LoadedJob on_nodes(LoadedJob job, int ranks_per_node) {
  const GridShape shape = grid_shape(job.config.parallel);
  std::vector<int> node_of_rank(static_cast<std::size_t>(shape.size()), 0);
  if (ranks_per_node > 0)
    for (int rank = 0; rank < shape.size(); ++rank)
      node_of_rank[static_cast<std::size_t>(rank)] = rank / ranks_per_node;
  check_tensor_inside_nodes(shape, node_of_rank);
  for (const Axis axis : all_axes)
    job.config.run.ranks_sharing[static_cast<std::size_t>(axis)] =
        run_within_node(shape, axis, node_of_rank);
  if (!job.config.run.space && device_count() > 0) job.config.run.space = MemorySpace::device;
  // Each with a GPU of its own.
  if (space_of(job.config) == MemorySpace::device) job.config.run.staged_messages = false;
  int& size = job.config.zero.shard_size;
  if (size < 0) size = run_within_node(shape, Axis::data, node_of_rank);
  return job;
}

JobPlan plan_job(const Config& config) {
  // What libraries take when a step first runs them: code and data that were on disk only, and the
  // kernels that oneDNN generates. Measured on 1 to 8 ranks: 5 to 8 MiB, whatever the model.
  constexpr std::int64_t libraries = 6 << 20;
  const std::int64_t program = resident_bytes() + libraries;
  StepPlans steps = step_plans(config);
  MemoryPlan memory(config, steps, program);
  MessagePlan messages = plan_messages(config, steps);
  return {program, std::move(steps), std::move(memory), messages};
}

JobPlan plan_job(Config& config, const std::function<bool(const MemoryPlan&)>& fits) {
  JobPlan plan = plan_job(std::as_const(config));
  AsyncWrites& async = config.checkpoint.async;
  if (async != AsyncWrites::where_it_fits) return plan;
  async = fits(plan.memory) ? AsyncWrites::on : AsyncWrites::does_not_fit;
  return async == AsyncWrites::on ? std::move(plan) : plan_job(std::as_const(config));
}

}  // namespace triax

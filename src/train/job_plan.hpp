#pragma once
// All that is known of a job before it runs.
#include <functional>

#include "src/comm/process_grid.hpp"
#include "src/config/load.hpp"
#include "src/train/memory_plan.hpp"

namespace triax {

struct JobPlan {
  std::int64_t program = 0;  // bytes of this process before it allocates, libraries included
  StepPlans steps;
  MemoryPlan memory;
  MessagePlan messages;
};

/// The job with what only a grid knows: the data ranks that share a node, over which state is cut
/// where zero.shard_size is -1, and where its tensors are.
LoadedJob on_grid(LoadedJob job, const ProcessGrid& grid);

/// The same without a grid, for nodes of `ranks_per_node` ranks each; 0: all ranks on one node. On
/// GPUs where the job does not say otherwise and this machine has one.
/// UsageError where a tensor group would span nodes.
LoadedJob on_nodes(LoadedJob job, int ranks_per_node);

/// Needs the kernels' runtime, and takes no memory to speak of. UsageError where the schedule
/// cannot be built for the job.
JobPlan plan_job(const Config& config);

/// The same, with checkpoint.async decided in `config` where the job leaves that open: on where the
/// plan then `fits`, which must say the same on all ranks.
JobPlan plan_job(Config& config, const std::function<bool(const MemoryPlan&)>& fits);

}  // namespace triax

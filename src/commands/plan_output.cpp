// SPDX-License-Identifier: Apache-2.0
#include "src/commands/plan_output.hpp"

#include <spdlog/spdlog.h>

#include <optional>

#include "kernels/parallel/runtime.hpp"
#include "src/comm/mpi/message_tags.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/executor/pipeline_messages.hpp"
#include "src/forecast/dry_run.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/forecast/offload_room.hpp"
#include "src/huggingface/weights_check.hpp"
#include "src/launch/threads.hpp"
#include "src/schedule/compute_order.hpp"
#include "src/schedule/schedules.hpp"
#include "src/trainer/epoch_steps.hpp"
#include "src/trainer/report/run_warnings.hpp"

namespace triax {
namespace {

// The job placed on the process grid of these ranks (`grid` is made), as a run would place it; with
// one process, on nodes of --ranks-per-node ranks.
PlacedConfig place_to_plan(const PlanArguments& arguments, const Config& job, int processes,
                           std::optional<ProcessGrid>& grid) {
  const GridShape shape = grid_shape(job.parallel);
  if (processes > 1) {
    if (arguments.ranks_per_node > 0)
      throw UsageError("--ranks-per-node is for a plan that one process makes",
                       fmt::format("the nodes of these {} ranks are known", processes),
                       "Leave it out, or start triax without mpiexec");
    grid.emplace(MPI_COMM_WORLD, shape, std::vector<int>{}, job.run.collective_timeout,
                 job.run.space);
    return on_grid(job, *grid);
  }
  spdlog::info("planned for {} rank(s), {}: mpiexec -n N triax ... plans for N ranks", shape.size(),
               shape.text());
  PlacedConfig config = on_nodes(job, arguments.ranks_per_node);
  const bool by_node = job.zero.shard_size < 0;
  if (by_node && arguments.ranks_per_node == 0)
    spdlog::warn(
        "HYBRID_SHARD: the nodes are unknown; one node of {} ranks is assumed, with state sharded "
        "over all {} data ranks. Set --ranks-per-node to the ranks of a node",
        shape.size(), config.parallel.data);
  else if (by_node)
    spdlog::info("HYBRID_SHARD: nodes of {} ranks, state is sharded over {} of the {} data ranks",
                 arguments.ranks_per_node, shard_size(config), config.parallel.data);
  return config;
}

// Without a grid, ranks are assumed to share machines like this one.
int planned_threads(const PlanArguments& arguments, const Config& config,
                    const std::optional<ProcessGrid>& grid) {
  if (grid) return threads_of_rank(*grid);
  return threads_of_planned_rank(arguments.ranks_per_node > 0 ? arguments.ranks_per_node
                                                              : grid_shape(config.parallel).size());
}

// Plan of the job, with checkpoint.async decided as in a run.
JobPlan plan_to_show(const PlacedConfig& config, const std::optional<ProcessGrid>& grid) {
  return plan_job(config, [&](const MemoryPlan& memory) {
    return grid ? fits(memory, *grid) : fits(memory, {memory.fullest()}, memory_limit());
  });
}

// Throws the errors of a run that does not fit. Without a grid or --ranks-per-node, the ranks of
// each node are unknown and only the fullest rank is checked, alone.
void check_planned(const PlanArguments& arguments, const JobPlan& job,
                   const std::optional<ProcessGrid>& grid) {
  const PlacedConfig& config = job.config;
  const MemoryPlan& plan = job.memory;
  if (grid) {
    check_fits(config, plan, *grid);
    return check_offload_room(config, plan, *grid);
  }
  std::vector<int> ranks = {plan.fullest()};
  if (arguments.ranks_per_node > 0) {
    ranks = plan.fullest_node(arguments.ranks_per_node);
    check_fits(config, plan, ranks, node_limit());
  }
  for (const MemoryLimit& limit : {node_limit(), process_limit()})
    check_fits(config, plan, {plan.fullest()}, limit);
  check_fits(config, plan, {plan.fullest()}, gpu_limit(config.place.space));
  check_offload_room(config, plan, ranks);
}

void print_as_text(const PlanArguments& arguments, const JobPlan& plan) {
  const Plans& stages = plan.steps.training;
  if (arguments.print_schedule)
    print_out(text_of_order(make_schedule(plan.config.parallel.schedule, plan.steps.shape)));
  if (arguments.print_plan)
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      print_out(fmt::format("stage {}\n{}", stage, text_of(stages[stage])));
  if (!arguments.dry_run) return;
  const MemoryLimit gpu = gpu_limit(plan.config.place.space);
  print_out(dry_run_table(plan, gpu.space == MemorySpace::device ? gpu : node_limit()));
}

void print_plan(const PlanArguments& arguments, const JobPlan& plan) {
  if (arguments.json)
    print_out(
        plan_json(plan, {.dry_run = arguments.dry_run, .instructions = arguments.print_plan}));
  else
    print_as_text(arguments, plan);
  if (!arguments.dry_run) return;
  const PlacedConfig& config = plan.config;
  const bool present = config.place.space == MemorySpace::device && device_count() > 0;
  for (const std::string& line : gpu_notes(config, present)) spdlog::info("{}", line);
  for (const std::string& line : config_warnings(config)) spdlog::warn("{}", line);
}

// Loads a job whose files may be missing.
LoadedJob load_to_plan(const PlanArguments& arguments, MpiSession& session) {
  const int processes = session.size();
  const auto load = [&] {
    return load_job_to_plan(arguments.job.job, arguments.job.overrides,
                            processes == 1 ? 0 : processes);
  };
  if (processes > 1) return load_on_all_ranks(session, arguments.job.job, load);
  LoadedJob job = load();
  check_plannable(job.config);
  return job;
}

}  // namespace

void show_plan(const PlanArguments& arguments, MpiSession& session) {
  std::optional<ProcessGrid> grid;
  LoadedJob job = load_to_plan(arguments, session);
  const std::string steps = count_steps_to_plan(MPI_COMM_WORLD, job);
  const PlacedConfig config = place_to_plan(arguments, job.config, session.size(), grid);
  check_tags(config, largest_message_tag("this process"));
  const KernelRuntime runtime(planned_threads(arguments, config, grid));
  const JobPlan plan = plan_to_show(config, grid);
  if (session.rank() == 0) {
    const FileScope printing(grid ? grid->watch()
                                  : nullptr);  // the reader of a pipe may block the output
    print_plan(arguments, plan);
    if (!steps.empty()) spdlog::info("{}", steps);
    for (const std::string& line : job.warnings) spdlog::warn("{}", line);
    warn_of_missing(job.missing);
  }
  check_planned(arguments, plan, grid);
  if (!arguments.dry_run) return;
  for (const std::string& line : check_weights(config.model))
    if (session.rank() == 0) spdlog::warn("{}", line);
}

}  // namespace triax

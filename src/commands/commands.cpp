#include "src/commands/commands.hpp"

#include <spdlog/spdlog.h>

#include <csignal>
#include <functional>
#include <optional>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/say.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/comm/device/device_messages.hpp"
#include "src/comm/launch/isa_of_job.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/launch/start_meeting.hpp"
#include "src/comm/mpi/message_tags.hpp"
#include "src/comm/watchdog/watchdog.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/load/describe.hpp"
#include "src/config/load/load.hpp"
#include "src/executor/pipeline_messages.hpp"
#include "src/forecast/dry_run.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/forecast/offload_room.hpp"
#include "src/forecast/same_plan.hpp"
#include "src/launch/batch_job.hpp"
#include "src/launch/offload_place.hpp"
#include "src/launch/run_lock.hpp"
#include "src/launch/same_job.hpp"
#include "src/launch/shared_directories.hpp"
#include "src/launch/threads.hpp"
#include "src/trainer/run_report.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {
namespace {

void warn_of(const std::vector<std::string>& missing) {
  for (const std::string& file : missing) spdlog::warn("triax: missing: {}", file);
}

// The job on the grid there, which a plan and a run must agree on; without one, on nodes as the
// command line says.
PlacedConfig place_to_plan(const JobArguments& arguments, const Config& job, int processes,
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
        "HYBRID_SHARD: taken as one node of {} ranks, so state is cut over all {} data ranks. "
        "--ranks-per-node N plans for nodes of N ranks",
        shape.size(), config.parallel.data);
  else if (by_node)
    spdlog::info("HYBRID_SHARD: nodes of {} ranks, state is cut over {} of the {} data ranks",
                 arguments.ranks_per_node, shard_size(config), config.parallel.data);
  return config;
}

// Without a grid the ranks are taken to share machines such as this one.
int planned_threads(const JobArguments& arguments, const Config& config,
                    const std::optional<ProcessGrid>& grid) {
  if (grid) return threads_of_rank(*grid);
  return threads_of_planned_rank(arguments.ranks_per_node > 0 ? arguments.ranks_per_node
                                                              : grid_shape(config.parallel).size());
}

// As a run would plan it.
JobPlan plan_to_show(const PlacedConfig& config, const std::optional<ProcessGrid>& grid) {
  return plan_job(config, [&](const MemoryPlan& memory) {
    return grid ? fits(memory, *grid) : fits(memory, {memory.fullest()}, memory_limit());
  });
}

// What a run would be refused for. Where the other ranks of a larger grid would run is not known
// unless the command line says it: then each alone must fit.
void check_planned(const JobArguments& arguments, const JobPlan& job,
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

void print_as_text(const JobArguments& arguments, const JobPlan& plan) {
  const Plans& stages = plan.steps.training;
  if (arguments.print_plan)
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
      print_out(fmt::format("stage {}\n{}", stage, text_of(stages[stage])));
  if (!arguments.dry_run) return;
  const MemoryLimit gpu = gpu_limit(plan.config.place.space);
  print_out(dry_run_table(plan, gpu.space == MemorySpace::device ? gpu : node_limit()));
}

void print_plan(const JobArguments& arguments, const JobPlan& plan) {
  if (arguments.json)
    print_out(
        plan_json(plan, {.dry_run = arguments.dry_run, .instructions = arguments.print_plan}));
  else
    print_as_text(arguments, plan);
  if (!arguments.dry_run) return;
  const PlacedConfig& config = plan.config;
  const bool present = config.place.space == MemorySpace::device && device_count() > 0;
  for (const std::string& line : gpu_notes(config, present)) spdlog::info("{}", line);
  for (const std::string& line : surprises(config)) spdlog::warn("{}", line);
}

void say_failure(const std::string& text) {
  say("triax: {}\n", text);
}

// Before there is a grid, which is of the job.
LoadedJob load_on_all_ranks(MpiSession& session, const std::function<LoadedJob()>& load) {
  const StartMeeting meeting(MPI_COMM_WORLD);
  LoadedJob job;
  std::string facts;
  try {
    job = load();
    check_plannable(job.config);
    facts = job_facts(job);
  } catch (const UsageError& error) {
    meeting.fail(error.what(), usage_failure);
  } catch (const std::exception& error) {
    meeting.fail(failure_text(error), run_time_failure);
  }
  const double timeout = job.config.run.collective_timeout;
  session.end_within(timeout);
  meeting.meet(timeout);
  check_same_job(MPI_COMM_WORLD, facts);
  return job;
}

// Files may be missing in a plan.
LoadedJob load_to_plan(const JobArguments& arguments, MpiSession& session) {
  const int processes = session.size();
  const auto load = [&] {
    return load_job_to_plan(arguments.job, arguments.overrides, processes == 1 ? 0 : processes);
  };
  if (processes > 1) return load_on_all_ranks(session, load);
  LoadedJob job = load();
  check_plannable(job.config);
  return job;
}

}  // namespace

int fail(MpiSession& session, const std::string& text, int status) {
  if (session.rank() == 0) say_failure(text);
  // All ranks read what the user wrote, and come to the same; of thousands some come late.
  const double patience = status == usage_failure ? 15.0 : 2.0;
  if (session.all_arrive(patience)) return status;
  if (session.rank() != 0) say_failure(text);
  session.abort(status);
}

// While the memory of messages under way still stands, and before communicators go, which wait for
// the other ranks. Where such memory must stay the process ends without giving it back: where
// messages are under way, and on a GPU, which is waited for as its memory goes and may be in a
// message that no other rank joins. The trainer's offload files (if it was made: else they may be
// another run's) go here, and the lock then.
int fail_run(MpiSession& session, const ProcessGrid& grid, const Config& config, bool has_trainer,
             std::optional<RunLock>& lock, const std::exception& error) {
  // First of all: a rank that fails alone ends the others.
  if (has_trainer && grid.size() > 1) remove_own_offload(grid, config);
  if (dynamic_cast<const DeviceMessagesFailed*>(&error) != nullptr) {
    say_failure(error.what());
    session.abort(run_time_failure);
  }
  const int status = fail(session, failure_text(error), run_time_failure);
  if (grid.size() == 1) return status;
  if (grid.space() == MemorySpace::host && !session.any(grid.has_messages())) return status;
  lock.reset();
  (void)session.all_arrive();  // the first that aborts ends the others
  session.abort(status);
}

int train(const JobArguments& arguments, MpiSession& session, std::optional<StartSignals>& start) {
  std::signal(SIGPIPE, SIG_IGN);  // a log that nobody reads any more ends no run
  if (arguments.ranks_per_node > 0)
    throw UsageError("--ranks-per-node is for a plan: a run finds the nodes of its ranks", {},
                     "Add --dry-run or --print-plan, or leave it out");
  check_launch(MPI_COMM_WORLD);
  (void)threads_asked();    // refused before anything is made
  const RunRequests early;  // signals wait from here on, for the trainer's own
  const LoadedJob job = load_on_all_ranks(
      session, [&] { return load_job(arguments.job, arguments.overrides, session.size()); });
  std::string cores;
  ProcessGrid grid(MPI_COMM_WORLD, grid_shape(job.config.parallel), {},
                   job.config.run.collective_timeout, job.config.run.space,
                   [&](const CoreShare& share, MemorySpace space) {
                     cores = settle_on_cores(share, space).text;
                   });
  const std::string code = [&] {
    const WaitScope agreeing(grid.watch());
    return agree_on_isa(grid.mpi());
  }();
  PlacedConfig config = on_grid(job.config, grid);
  if (grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  spdlog::info("{}; {}", cores, code);
  const KernelRuntime runtime(threads_of_rank(grid));
  std::optional<RunLock> lock;  // rank 0's, to the end of the run
  agreed(grid, [&] {
    if (grid.rank() == 0) lock.emplace(config);
  });
  check_directories_shared(grid, job.config, usual_directory_patience(job.config.run));
  grid.report_across_nodes(config.run.directory);
  check_same_data(grid, job.config);
  // Behind the lock: who held it may have written a checkpoint just now.
  go_on_where_run_again(grid, batch_job(surroundings()), batch_attempt(surroundings()), config);
  check_tags(config, largest_message_tag(grid.place()));
  JobPlan plan = plan_job(config, [&](const MemoryPlan& memory) { return fits(memory, grid); });
  check_fits(config, plan.memory, grid);
  check_same_plan(grid, config, plan.steps);
  remove_left_offload(grid, config);
  check_offload_writable(config, plan.memory, grid);
  check_offload_room(config, plan.memory, grid);
  std::optional<Trainer> trainer;
  try {
    trainer.emplace(job, grid, std::move(plan));
    start.reset();  // from here on a signal asks for a checkpoint
    if (trainer->run(arguments.started) == RunEnd::stopped) return stopped_early;
    if (grid.rank() == 0)
      record_done(config.run.directory, batch_job(surroundings()), batch_attempt(surroundings()),
                  trainer->has_steps());
    return 0;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    start.reset();  // a signal that comes with the end of other ranks is not to change the status
    return fail_run(session, grid, config, trainer.has_value(), lock, error);
  }
}

void show_plan(const JobArguments& arguments, MpiSession& session) {
  std::optional<ProcessGrid> grid;
  const LoadedJob job = load_to_plan(arguments, session);
  const PlacedConfig config = place_to_plan(arguments, job.config, session.size(), grid);
  check_tags(config, largest_message_tag("this process"));
  const KernelRuntime runtime(planned_threads(arguments, config, grid));
  const JobPlan plan = plan_to_show(config, grid);
  if (session.rank() == 0) {
    const FileScope printing(grid ? grid->watch() : nullptr);  // a reader may keep it
    print_plan(arguments, plan);
    for (const std::string& line : job.warnings) spdlog::warn("{}", line);
    warn_of(job.missing);
  }
  check_planned(arguments, plan, grid);
}

void print_config(const JobArguments& arguments) {
  if (arguments.reference) {
    print_out(key_reference(arguments.json));
    return;
  }
  const JobDescription job =
      describe_job(arguments.job, arguments.overrides, arguments.ranks, arguments.json);
  print_out(job.text);
  warn_of(job.missing);
}

}  // namespace triax

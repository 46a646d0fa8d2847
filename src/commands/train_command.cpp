// SPDX-License-Identifier: Apache-2.0
#include "src/commands/train_command.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/failure.hpp"
#include "src/commands/job_arguments.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/plan_output.hpp"
#include "src/launch/requeue.hpp"
#include "src/launch/threads.hpp"
#include "src/trainer/start_up.hpp"
#include "src/trainer/trainer.hpp"

namespace triax {
namespace {

// Trains the job on all ranks. Returns the exit status. Collective.
int train(const PlanArguments& arguments, CommandContext& context) {
  MpiSession& session = context.session;
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe must not end a run
  if (arguments.ranks_per_node > 0)
    throw UsageError("--ranks-per-node is for a plan: a run finds the nodes of its ranks", {},
                     "Add --dry-run or --print-plan, or leave it out");
  check_launch(MPI_COMM_WORLD);
  (void)threads_asked();    // an invalid OMP_NUM_THREADS is refused first
  const RunRequests early;  // keeps signals pending for the trainer's own RunRequests
  LoadedJob job = load_on_all_ranks(session, arguments.job.job, [&] {
    return load_job(arguments.job.job, arguments.job.overrides, session.size());
  });
  std::string cores;
  ProcessGrid grid(
      MPI_COMM_WORLD, grid_shape(job.config.parallel), {}, job.config.run.collective_timeout,
      job.config.run.space,
      [&](const CoreShare& share, MemorySpace space) { cores = bind_to_cores(share, space).text; });
  StartUp start_up(std::move(job), grid, cores);
  std::optional<Trainer> trainer;
  try {
    trainer.emplace(start_up.job, grid, *std::move(start_up.plan), std::move(start_up.tokenizer));
    context.start.reset();  // from here on a signal requests a checkpoint
    if (trainer->run(context.started) == RunEnd::stopped) return stopped_early;
    if (grid.rank() == 0)
      record_done(start_up.config.run.directory, batch_job(surroundings()),
                  batch_attempt(surroundings()), trainer->has_steps());
    return 0;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    // StartSignals ends first: a signal caused by the end of other ranks must not change the
    // status.
    context.start.reset();
    return fail_run(session, grid, start_up.config, trainer.has_value(), start_up.lock, error);
  }
}

}  // namespace

void add_train(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = app.add_subcommand("train", "Train a model as a job file says.");
  command->footer(
      "Runs alike under mpiexec -n N, srun --mpi=pmi2, and as one process:\n  triax train "
      "job.json\n  mpiexec -n 4 triax train job.json --set parallel.tensor=2 --set "
      "run.steps=200\nA job that has checkpoints is resumed (checkpoint.resume), on any grid. A "
      "batch job that runs\nagain continues from its own checkpoints, whatever checkpoint.resume "
      "is: Slurm jobs are known\nby their number, others by the variable TRIAX_JOB_ID, equal in "
      "all runs of the job.\nPaths of input files are relative to the working directory, else to "
      "the job file's directory;\nrun.directory and checkpoint.directory are relative to the "
      "working directory only.\nJobs to start from: jobs/examples. The keys of a job: triax config "
      "--reference");
  command->add_option("JOB.json", arguments->job.job, "The job file (JSON)")
      ->type_name("")
      ->required();
  add_overrides(command, arguments->job.overrides);
  command->add_flag("--print-plan", arguments->print_plan,
                    "Print the instructions of a step for each stage, and stop");
  command->add_flag(
      "--dry-run", arguments->dry_run,
      "Print the memory of each rank by kind and the messages of a step, and stop; status 2 where "
      "the job does not fit");
  command->add_flag("--json", arguments->json,
                    "With --dry-run or --print-plan: print JSON, one object of what both have");
  command
      ->add_flag("--print-schedule", arguments->print_schedule,
                 "Print the order of forward and backward passes on each stage as CSV, and stop; "
                 "changed, it is a schedule: parallel.schedule=file:ORDER.csv")
      ->excludes("--print-plan")
      ->excludes("--dry-run")
      ->excludes("--json");
  command
      ->add_option("--ranks-per-node", arguments->ranks_per_node,
                   "With --dry-run or --print-plan in one process: ranks per node, which must fit "
                   "a machine like this one together (default: unknown, each rank must fit alone). "
                   "fsdp.sharding_strategy HYBRID_SHARD shards state within nodes")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30));
  command->callback([arguments, &context] {
    if (arguments->json && !arguments->dry_run && !arguments->print_plan)
      throw UsageError("--json needs --dry-run or --print-plan", {},
                       "Add one of them, or leave it out: a run writes metrics.jsonl");
    if (arguments->dry_run || arguments->print_plan || arguments->print_schedule) {
      context.start.reset();
      release_signals();
      show_plan(*arguments, context.session);
    } else {
      context.status = train(*arguments, context);
    }
  });
}

}  // namespace triax

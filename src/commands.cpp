#include "src/commands.hpp"

#include <spdlog/spdlog.h>

#include <climits>
#include <cstdlib>
#include <optional>

#include "io/agree.hpp"
#include "io/checkpoint_verify.hpp"
#include "kernels/base/runtime.hpp"
#include "src/comm/topology.hpp"
#include "src/config/load.hpp"
#include "src/train/dry_run.hpp"
#include "src/train/memory_check.hpp"
#include "src/train/process_memory.hpp"
#include "src/train/run_lock.hpp"
#include "src/train/trainer.hpp"

namespace triax {
namespace {

// Cores of a rank: what OMP_NUM_THREADS says, else an equal part of its node's.
int threads_of_rank(const ProcessGrid& grid) {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  const long given = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
  if (given > 0 && given < INT_MAX) return static_cast<int>(given);
  return std::max(1, grid.node_cores() / grid.node_size());
}

// The prompt as tokens of the model: its bytes.
std::vector<std::int32_t> tokens_of(const std::string& prompt, const ModelConfig& model) {
  std::vector<std::int32_t> tokens;
  for (const unsigned char byte : prompt) {
    if (byte >= model.vocabulary)
      throw UsageError(fmt::format("byte {} of the prompt is not a token of the model", int{byte}),
                       fmt::format("its vocabulary has {} tokens", model.vocabulary),
                       "Use a model that was trained on bytes");
    tokens.push_back(byte);
  }
  if (model.vocabulary > byte_tokens)
    spdlog::warn("the model has {} tokens; those from {} on are not bytes and are never drawn",
                 model.vocabulary, byte_tokens);
  return tokens;
}

}  // namespace

int fail(MpiSession& session, const std::string& text, int status) {
  const auto print = [&] {
    fmt::print(stderr, "triax: {}\n", text);
    (void)std::fflush(stderr);
  };
  if (session.rank() == 0) print();
  if (session.all_arrive()) return status;
  if (session.rank() != 0) print();
  session.abort(status);
}

int train(const JobArguments& arguments, MpiSession& session) {
  check_launch(MPI_COMM_WORLD);
  LoadedJob job = load_job(arguments.job, arguments.overrides, session.size());
  check_plannable(job.config, node_memory());
  ProcessGrid grid(MPI_COMM_WORLD, grid_shape(job.config.parallel));
  job = on_grid(std::move(job), grid);
  if (grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  const KernelRuntime runtime(threads_of_rank(grid));
  JobPlan plan = plan_job(job.config);
  check_fits(job.config, plan.memory, grid);
  std::optional<RunLock> lock;  // rank 0's, to the end of the run
  agreed(grid.mpi(), [&] {
    if (grid.rank() == 0) lock.emplace(job.config);
  });
  Trainer trainer(job, grid, std::move(plan));
  try {
    trainer.run();
    return 0;
  } catch (const std::exception& error) {
    return fail(session, error.what(), 3);  // while the memory of messages under way still stands
  }
}

void print_plan(const JobArguments& arguments, const MpiSession& session) {
  if (session.rank() != 0) return;
  const LoadedJob job =
      load_job(arguments.job, arguments.overrides, session.size() > 1 ? session.size() : 0);
  check_plannable(job.config, node_memory());
  const KernelRuntime runtime;
  const StepPlans plans = step_plans(job.config);
  for (std::size_t stage = 0; stage < plans.training.size(); ++stage)
    fmt::print("stage {}\n{}", stage, text_of(plans.training[stage]));
}

void dry_run(const JobArguments& arguments, const MpiSession& session) {
  const bool alone = session.size() == 1;
  LoadedJob job = load_job(arguments.job, arguments.overrides, alone ? 0 : session.size());
  check_plannable(job.config, node_memory());
  const KernelRuntime runtime;
  std::optional<ProcessGrid> grid;
  if (!alone) {
    grid.emplace(MPI_COMM_WORLD, grid_shape(job.config.parallel));
    job = on_grid(std::move(job), *grid);
  }
  const JobPlan plan = plan_job(job.config);
  if (session.rank() == 0) {
    fmt::print("{}", arguments.json ? dry_run_json(plan) : dry_run_table(plan, node_memory()));
    std::fflush(stdout);
  }
  // Where the other ranks of a larger grid would run is not known: each alone must fit.
  if (grid)
    check_fits(job.config, plan.memory, *grid);
  else
    check_fits(job.config, plan.memory, {plan.memory.fullest()}, node_memory());
}

void print_config(const JobArguments& arguments) {
  if (arguments.reference) {
    fmt::print("{}", key_reference(arguments.json));
    return;
  }
  const JobDescription job =
      describe_job(arguments.job, arguments.overrides, arguments.ranks, arguments.json);
  fmt::print("{}", job.text);
  (void)std::fflush(stdout);
  for (const std::string& missing : job.missing) spdlog::warn("triax: missing: {}", missing);
}

void generate(const GenerateArguments& arguments) {
  if (arguments.prompt.empty())
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
  const KernelRuntime runtime(1);
  if (!require_whole(arguments.checkpoint, MPI_COMM_NULL))
    spdlog::warn("{} has no checksums: its data are taken as they are", arguments.checkpoint);
  const CheckpointReader reader(arguments.checkpoint);
  const std::int64_t length =
      static_cast<std::int64_t>(arguments.prompt.size()) + arguments.sampling.max_tokens;
  Generator generator(reader, length);
  const std::vector<std::int32_t> tokens = tokens_of(arguments.prompt, generator.model());
  fmt::print("{}", arguments.prompt);
  generator.generate(tokens, arguments.sampling, [](std::int32_t token) {
    std::putchar(token);
    (void)std::fflush(stdout);
  });
  fmt::print("\n");
}

}  // namespace triax

// The commands of triax.
#include <fmt/core.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "io/checkpoint_inspect.hpp"
#include "kernels/base/runtime.hpp"
#include "src/comm/mpi_session.hpp"
#include "src/comm/topology.hpp"
#include "src/config/load.hpp"
#include "src/train/generate.hpp"
#include "src/train/trainer.hpp"
#include "src/train/version.hpp"

namespace {

using namespace triax;

struct JobArguments {
  std::string job;
  std::vector<std::string> overrides;
  bool print_plan = false, json = false, reference = false;
  int ranks = 0;
};

struct GenerateArguments {
  std::string checkpoint, prompt;
  SamplingOptions sampling;
};

// Cores of a rank: what OMP_NUM_THREADS says, else an equal part of its node's.
int threads_of_rank(const ProcessGrid& grid) {
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr && std::atoi(text) > 0)
    return std::atoi(text);
  return std::max(1, grid.node_cores() / grid.node_size());
}

void train(const JobArguments& arguments) {
  check_launch(MPI_COMM_WORLD);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const LoadedJob job = load_job(arguments.job, arguments.overrides, ranks);
  const ParallelConfig& parallel = job.config.parallel;
  ProcessGrid grid(MPI_COMM_WORLD,
                   {parallel.data, parallel.pipeline, parallel.tensor,
                    parse_axis_order(parallel.order), parallel.tensor_across_nodes});
  if (grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  const KernelRuntime runtime(threads_of_rank(grid));
  if (arguments.print_plan) {
    if (grid.rank() != 0) return;
    const StepPlans plans = step_plans(job.config);
    for (std::size_t stage = 0; stage < plans.training.size(); ++stage)
      fmt::print("stage {}\n{}", stage, text_of(plans.training[stage]));
    return;
  }
  Trainer(job, grid).run();
}

void print_config(const JobArguments& arguments) {
  if (arguments.reference)
    fmt::print("{}", key_reference(arguments.json));
  else
    fmt::print("{}",
               describe_job(arguments.job, arguments.overrides, arguments.ranks, arguments.json));
}

void generate(const GenerateArguments& arguments) {
  const KernelRuntime runtime(1);
  const CheckpointReader reader(arguments.checkpoint);
  std::vector<std::int32_t> tokens;
  for (const unsigned char byte : arguments.prompt) tokens.push_back(byte);
  if (tokens.empty())
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
  Generator generator(reader,
                      static_cast<std::int64_t>(tokens.size()) + arguments.sampling.max_tokens);
  fmt::print("{}", arguments.prompt);
  generator.generate(tokens, arguments.sampling, [](std::int32_t token) {
    std::putchar(token);
    std::fflush(stdout);
  });
  fmt::print("\n");
}

void add_job_commands(CLI::App& app, JobArguments& arguments) {
  const auto add_overrides = [&](CLI::App* command) {
    command
        ->add_option("--set", arguments.overrides,
                     "Override one key of the job: KEY=VALUE, as parallel.tensor=2")
        ->take_all();
  };
  CLI::App* train_command =
      app.add_subcommand("train",
                         "Train a model as a job file says.\n"
                         "Runs alike under mpiexec -n N, srun --mpi=pmi2, and as one process.\n"
                         "The keys of a job: triax config --reference");
  train_command->add_option("job", arguments.job, "The job file (JSON)")->required();
  add_overrides(train_command);
  train_command->add_flag("--print-plan", arguments.print_plan,
                          "Print the instructions of a step for each stage, and stop");
  train_command->callback([&] { train(arguments); });

  CLI::App* config = app.add_subcommand(
      "config", "Show a job with every default filled in, and where each value came from.");
  CLI::Option* job = config->add_option("job", arguments.job, "The job file (JSON)");
  add_overrides(config);
  config
      ->add_option("--ranks", arguments.ranks,
                   "Resolve for so many ranks (default: the smallest grid that the job allows)")
      ->check(CLI::PositiveNumber);
  config->add_flag("--json", arguments.json, "Print JSON");
  CLI::Option* reference =
      config->add_flag("--reference", arguments.reference,
                       "Show every key: type, unit, default, allowed values, meaning");
  config->callback([&, job, reference] {
    if (job->count() == 0 && reference->count() == 0)
      throw UsageError("triax config needs a job file or --reference", {},
                       "See triax config --help");
    print_config(arguments);
  });
}

void add_checkpoint_commands(CLI::App& app, JobArguments& arguments,
                             GenerateArguments& generation) {
  CLI::App* command = app.add_subcommand(
      "generate", "Continue a text with the model of a checkpoint (one process).");
  command->add_option("checkpoint", generation.checkpoint, "The checkpoint file")->required();
  command->add_option("--prompt", generation.prompt, "The text to continue")->required();
  command->add_option("--max-tokens", generation.sampling.max_tokens, "Tokens to add")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--temperature", generation.sampling.temperature,
                   "0: always the likeliest token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--top-k", generation.sampling.top_k,
                   "Draw from the K likeliest tokens; 0: from all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--seed", generation.sampling.seed, "Of the draws")->capture_default_str();
  command->callback([&] { generate(generation); });

  CLI::App* checkpoint = app.add_subcommand("checkpoint", "Look into checkpoint files.");
  checkpoint->require_subcommand(1);
  CLI::App* inspect = checkpoint->add_subcommand(
      "inspect", "List a checkpoint's tensors: type, shape, min, max, mean, norm.");
  inspect->add_option("file", generation.checkpoint, "The checkpoint file")->required();
  inspect->add_flag("--json", arguments.json, "Print JSON");
  inspect->callback(
      [&] { fmt::print("{}\n", inspect_checkpoint(generation.checkpoint, arguments.json)); });
}

// An error that every rank meets is printed once, and the program ends in order; one that some
// ranks alone meet ends the job, since the others may be waiting for them.
int fail(const MpiSession& session, const std::string& text, int status) {
  const auto print = [&] {
    fmt::print(stderr, "triax: {}\n", text);
    std::fflush(stderr);
  };
  if (session.rank() == 0) print();
  if (session.all_arrive()) return status;
  if (session.rank() != 0) print();
  session.abort(status);
}

int run(int argc, char** argv, const MpiSession& session) {
  CLI::App app{"triax trains large language models on supercomputers: one binary, no Python."};
  app.set_version_flag("--version", std::string("triax ") + version);
  app.require_subcommand(1);
  JobArguments job;
  GenerateArguments generation;
  add_job_commands(app, job);
  add_checkpoint_commands(app, job, generation);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (session.rank() == 0) app.exit(error);
    return error.get_exit_code() == 0 ? 0 : 2;
  } catch (const UsageError& error) {
    return fail(session, error.what(), 2);
  } catch (const std::exception& error) {
    return fail(session, error.what(), 3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(&argc, &argv);
  spdlog::set_default_logger(spdlog::stderr_color_st("triax"));
  spdlog::set_pattern("%v");
  return run(argc, argv, session);
}

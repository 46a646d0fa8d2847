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

constexpr int byte_tokens = 256;  // the only tokenizer: a token a byte

struct JobArguments {
  std::string job;
  std::vector<std::string> overrides;
  bool print_plan = false, json = false, reference = false;
  int ranks = 0;
};

struct GenerateArguments {
  std::string checkpoint, prompt;
  SamplingOptions sampling{.tokens = byte_tokens};
};

struct Arguments {
  JobArguments job;
  GenerateArguments generation;
};

// Cores of a rank: what OMP_NUM_THREADS says, else an equal part of its node's.
int threads_of_rank(const ProcessGrid& grid) {
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr && std::atoi(text) > 0)
    return std::atoi(text);
  return std::max(1, grid.node_cores() / grid.node_size());
}

// An error that every rank meets is printed once, and the program ends in order; one that some
// ranks alone meet ends the job, since the others may be waiting for them. Returns the exit status.
int fail(MpiSession& session, const std::string& text, int status) {
  const auto print = [&] {
    fmt::print(stderr, "triax: {}\n", text);
    std::fflush(stderr);
  };
  if (session.rank() == 0) print();
  if (session.all_arrive()) return status;
  if (session.rank() != 0) print();
  session.abort(status);
}

// The instructions of a step for each stage. One process may ask for a grid of any size.
void print_plan(const JobArguments& arguments, const MpiSession& session) {
  if (session.rank() != 0) return;
  const LoadedJob job =
      load_job(arguments.job, arguments.overrides, session.size() > 1 ? session.size() : 0);
  const KernelRuntime runtime;
  const StepPlans plans = step_plans(job.config);
  for (std::size_t stage = 0; stage < plans.training.size(); ++stage)
    fmt::print("stage {}\n{}", stage, text_of(plans.training[stage]));
}

int train(const JobArguments& arguments, MpiSession& session) {
  check_launch(MPI_COMM_WORLD);
  const LoadedJob job = load_job(arguments.job, arguments.overrides, session.size());
  const ParallelConfig& parallel = job.config.parallel;
  ProcessGrid grid(MPI_COMM_WORLD,
                   {parallel.data, parallel.pipeline, parallel.tensor,
                    parse_axis_order(parallel.order), parallel.tensor_across_nodes});
  if (grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  const KernelRuntime runtime(threads_of_rank(grid));
  Trainer trainer(job, grid);
  try {
    trainer.run();
    return 0;
  } catch (const std::exception& error) {
    return fail(session, error.what(), 3);  // while the memory of messages under way still stands
  }
}

void print_config(const JobArguments& arguments) {
  if (arguments.reference)
    fmt::print("{}", key_reference(arguments.json));
  else
    fmt::print("{}",
               describe_job(arguments.job, arguments.overrides, arguments.ranks, arguments.json));
}

// The prompt as tokens of the model: its bytes.
std::vector<std::int32_t> tokens_of(const std::string& prompt, const ModelConfig& model) {
  if (prompt.empty())
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
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

void generate(const GenerateArguments& arguments) {
  const KernelRuntime runtime(1);
  const CheckpointReader reader(arguments.checkpoint);
  const std::int64_t length =
      static_cast<std::int64_t>(arguments.prompt.size()) + arguments.sampling.max_tokens;
  Generator generator(reader, length);
  const std::vector<std::int32_t> tokens = tokens_of(arguments.prompt, generator.model());
  fmt::print("{}", arguments.prompt);
  generator.generate(tokens, arguments.sampling, [](std::int32_t token) {
    std::putchar(token);
    std::fflush(stdout);
  });
  fmt::print("\n");
}

void add_overrides(CLI::App* command, JobArguments& job) {
  command
      ->add_option("--set", job.overrides,
                   "Override one key of the job: KEY=VALUE, as parallel.tensor=2")
      ->take_all();
}

void add_train(CLI::App& app, Arguments& arguments, MpiSession& session, int& status) {
  JobArguments& job = arguments.job;
  CLI::App* command =
      app.add_subcommand("train",
                         "Train a model as a job file says.\n"
                         "Runs alike under mpiexec -n N, srun --mpi=pmi2, and as one process.\n"
                         "The keys of a job: triax config --reference");
  command->add_option("job", job.job, "The job file (JSON)")->required();
  add_overrides(command, job);
  command->add_flag("--print-plan", job.print_plan,
                    "Print the instructions of a step for each stage, and stop");
  command->callback([&] {
    if (job.print_plan)
      print_plan(job, session);
    else
      status = train(job, session);
  });
}

void add_config(CLI::App& app, Arguments& arguments, const MpiSession& session) {
  JobArguments& job = arguments.job;
  CLI::App* command = app.add_subcommand(
      "config", "Show a job with every default filled in, and where each value came from.");
  CLI::Option* file = command->add_option("job", job.job, "The job file (JSON)");
  add_overrides(command, job);
  command
      ->add_option("--ranks", job.ranks,
                   "Resolve for so many ranks (default: the smallest grid that the job allows)")
      ->check(CLI::Range(1, 1 << 30));
  command->add_flag("--json", job.json, "Print JSON");
  CLI::Option* reference = command->add_flag(
      "--reference", job.reference, "Show every key: type, unit, default, allowed values, meaning");
  command->callback([&, file, reference] {
    if (file->count() == 0 && reference->count() == 0)
      throw UsageError("triax config needs a job file or --reference", {},
                       "See triax config --help");
    if (session.rank() == 0) print_config(job);
  });
}

void add_generate(CLI::App& app, Arguments& arguments, const MpiSession& session) {
  GenerateArguments& generation = arguments.generation;
  SamplingOptions& sampling = generation.sampling;
  CLI::App* command = app.add_subcommand(
      "generate", "Continue a text with the model of a checkpoint (one process).");
  command->add_option("checkpoint", generation.checkpoint, "The checkpoint file")->required();
  command->add_option("--prompt", generation.prompt, "The text to continue")->required();
  command->add_option("--max-tokens", sampling.max_tokens, "Tokens to add")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->add_option("--temperature", sampling.temperature, "0: always the likeliest token")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command->add_option("--top-k", sampling.top_k, "Draw from the K likeliest tokens; 0: from all")
      ->check(CLI::Range(0, 1 << 30))
      ->capture_default_str();
  command->add_option("--seed", sampling.seed, "Of the draws")->capture_default_str();
  command->callback([&] {
    if (session.rank() == 0) generate(generation);
  });
}

void add_checkpoint(CLI::App& app, Arguments& arguments, const MpiSession& session) {
  CLI::App* command = app.add_subcommand("checkpoint", "Look into checkpoint files.");
  command->require_subcommand(1);
  CLI::App* inspect = command->add_subcommand(
      "inspect", "List a checkpoint's tensors: type, shape, min, max, mean, norm.");
  inspect->add_option("file", arguments.generation.checkpoint, "The checkpoint file")->required();
  inspect->add_flag("--json", arguments.job.json, "Print JSON");
  inspect->callback([&] {
    if (session.rank() == 0)
      fmt::print("{}\n", inspect_checkpoint(arguments.generation.checkpoint, arguments.job.json));
  });
}

// Commands that users of interface pages will try: refused by name until they are built.
void add_commands_to_come(CLI::App& app) {
  for (const std::string name : {"plan", "evaluate", "data", "report"}) {
    CLI::App* command = app.add_subcommand(name)->group("")->allow_extras();
    command->callback([name] {
      throw UsageError(fmt::format("triax {} is not built yet", name), {},
                       "See triax --help for what is");
    });
  }
  CLI::App* checkpoint = app.get_subcommand("checkpoint");
  for (const std::string name : {"list", "verify", "diff", "export", "import"}) {
    CLI::App* command = checkpoint->add_subcommand(name)->group("")->allow_extras();
    command->callback([name] {
      throw UsageError(fmt::format("triax checkpoint {} is not built yet", name), {},
                       "See triax checkpoint --help for what is");
    });
  }
}

int run(int argc, char** argv, MpiSession& session) {
  CLI::App app{"triax trains large language models on supercomputers: one binary, no Python.",
               "triax"};
  app.set_version_flag("--version", std::string("triax ") + version);
  app.require_subcommand(1);
  Arguments arguments;
  int status = 0;
  add_train(app, arguments, session, status);
  add_config(app, arguments, session);
  add_generate(app, arguments, session);
  add_checkpoint(app, arguments, session);
  add_commands_to_come(app);
  try {
    app.parse(argc, argv);
    return status;
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
  MpiSession session(&argc, &argv);
  spdlog::set_default_logger(spdlog::stderr_color_st("triax"));
  spdlog::set_pattern("%v");
  return run(argc, argv, session);
}

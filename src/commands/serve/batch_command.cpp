// SPDX-License-Identifier: Apache-2.0
#include "src/commands/serve/batch_command.hpp"

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/options/command_grid.hpp"
#include "src/commands/options/grid_overrides.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/options/shared_options.hpp"
#include "src/commands/options/weights_option.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/launch/run_requests.hpp"
#include "src/launch/threads.hpp"
#include "src/serve/batch/batch.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string input, directory, model, tokenizer, part, weights = "trained", device = "auto";
  std::uint64_t seed = 1234;
  std::vector<std::string> overrides;
  bool status = false, json = false;
};

int show_status(const Arguments& arguments, CommandContext& context) {
  context.start.reset();
  release_signals();
  if (context.session.rank() != 0) return 0;
  const nlohmann::ordered_json status = batch_status(arguments.directory);
  print_out((arguments.json ? status.dump(2) : batch_status_text(arguments.directory, status)) +
            "\n");
  return 0;
}

int run(const Arguments& arguments, CommandContext& context) {
  if (arguments.status) return show_status(arguments, context);
  if (arguments.json) throw UsageError("--json needs --status", {}, "Add it, or leave it out");
  if (arguments.input.empty() || arguments.model.empty())
    throw UsageError("triax batch needs IN.jsonl and --model", {}, "See triax batch --help");
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe must not end the batch
  check_launch(MPI_COMM_WORLD);
  (void)threads_asked();  // an invalid OMP_NUM_THREADS is refused first
  const BatchArguments batch{.input = arguments.input,
                             .directory = arguments.directory,
                             .model = arguments.model,
                             .tokenizer = arguments.tokenizer,
                             .weights = saved_weights(arguments.weights),
                             .part = batch_part(arguments.part),
                             .seed = arguments.seed,
                             .settings = batch_settings(arguments.overrides)};
  BatchEnd end = {};
  with_grid(grid_of_overrides(batch.settings.serve.grid, context.session.size()), long_wait,
            space_of(arguments.device), [&](ProcessGrid& grid) {
              end = answer_batch(grid, batch, context.started, [&] { context.start.reset(); });
            });
  return end == BatchEnd::stopped ? stopped_early : 0;
}

void add_files(CLI::App* command, Arguments& arguments) {
  command
      ->add_option("IN.jsonl", arguments.input,
                   "Requests, one per line: OpenAI's batch form, or {\"prompt\" or \"messages\", "
                   "...}; may be .gz or .zst")
      ->type_name("");
  command
      ->add_option("--model", arguments.model,
                   "A checkpoint, or a directory with config.json and safetensors")
      ->type_name("MODEL");
  command->add_option("--out", arguments.directory, "The directory of the answers")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--part", arguments.part,
                   "Answer part I of N of the lines, from 0/N to N-1/N, as tasks of a job array "
                   "do; each part has a --out of its own")
      ->type_name("I/N");
  command
      ->add_option("--tokenizer", arguments.tokenizer,
                   "Another tokenizer than the model's: a directory or file, gpt2:DIR, or bytes")
      ->type_name("PATH");
  add_weights(command, arguments.weights);
}

void add_running(CLI::App* command, Arguments& arguments) {
  command
      ->add_option("--seed", arguments.seed,
                   "Requests without a seed get one from this and their custom_id")
      ->type_name("S")
      ->check(whole_number(0, 9e18))
      ->capture_default_str();
  command->add_flag("--status", arguments.status, "Print how far the batch of --out is, and stop");
  command->add_flag("--json", arguments.json, "With --status: print JSON");
  add_overrides(command, arguments.overrides,
                "A key of the sections inference and parallel, serve.name, context, answers or "
                "grace, run.stop_before_end or run.time_limit; may be given many times");
  add_speculate(command, arguments.overrides);
  add_device(command, arguments.device);
}

}  // namespace

void add_batch(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "batch", "Answer a file of requests with a model; stops and goes on at any line.");
  command->footer(
      "  triax batch requests.jsonl --model step-000100.h5 --out answers\n"
      "  mpiexec -n 4 triax batch requests.jsonl --model DIR --out answers --set "
      "parallel.tensor=2\n"
      "  triax batch --out answers --status\n"
      "Run again, it answers what has no answer yet. SIGTERM, SIGUSR1 and the end of the job's "
      "time\n(run.stop_before_end) end it with status 75. Answers are the same wherever it was "
      "cut, on any\nnumber of replicas. The guide: jobs/guides/batch.md");
  add_files(command, *arguments);
  add_running(command, *arguments);
  command->callback([arguments, &context] { context.status = run(*arguments, context); });
}

}  // namespace triax

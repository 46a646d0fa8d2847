// SPDX-License-Identifier: Apache-2.0
#include "src/commands/serve/serve_command.hpp"

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
#include "src/launch/threads.hpp"
#include "src/serve/server.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string model, tokenizer, host, weights = "trained", device = "auto";
  int port = -1;  // not given
  std::vector<std::string> overrides;
};

int run(const Arguments& arguments, CommandContext& context) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed log pipe must not end the server
  check_launch(MPI_COMM_WORLD);
  (void)threads_asked();  // an invalid OMP_NUM_THREADS is refused first
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.host.empty()) overrides.push_back("serve.host=" + arguments.host);
  if (arguments.port >= 0) overrides.push_back("serve.port=" + std::to_string(arguments.port));
  const ServeSettings settings = serve_settings(overrides);
  constexpr double no_timeout = 0;  // a server may have nothing to do for days
  const ServeArguments served{.model = arguments.model,
                              .tokenizer = arguments.tokenizer,
                              .weights = saved_weights(arguments.weights),
                              .settings = settings};
  ServeEnd end = {};
  with_grid(grid_of_overrides(settings.grid, context.session.size()), no_timeout,
            space_of(arguments.device),
            [&](ProcessGrid& grid) { end = serve(grid, served, [&] { context.start.reset(); }); });
  return end == ServeEnd::signalled ? stopped_early : 0;
}

void add_options(CLI::App* command, Arguments& arguments) {
  add_model(command, arguments.model);
  command
      ->add_option("--tokenizer", arguments.tokenizer,
                   "Another tokenizer than the model's: a directory or file, gpt2:DIR, or bytes")
      ->type_name("PATH");
  add_weights(command, arguments.weights);
  command
      ->add_option("--host", arguments.host,
                   "Address to listen on, as serve.host (default: 127.0.0.1, this machine alone)")
      ->type_name("HOST");
  command
      ->add_option("--port", arguments.port,
                   "Port to listen on, as serve.port (default: 8000); 0: any free one")
      ->type_name("PORT")
      ->check(whole_number(0, 65535));
  add_overrides(
      command, arguments.overrides,
      "A key of the sections serve, inference and parallel, or run.directory; may be given "
      "many times");
  add_speculate(command, arguments.overrides);
  add_device(command, arguments.device);
}

}  // namespace

void add_serve(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve a model over HTTP with OpenAI's API; on any grid.");
  command->footer(
      "  triax serve runs/demo/checkpoints/step-000100.h5 --port 0 --set run.directory=runs/serve\n"
      "  mpiexec -n 4 triax serve DIR --set parallel.tensor=2 --set parallel.pipeline=2\n"
      "  curl http://127.0.0.1:8000/v1/completions -d '{\"prompt\": \"The \", \"max_tokens\": "
      "20}'\n"
      "run.directory/endpoint.json has the URL and, in a Slurm job, the key. SIGTERM and SIGUSR1 "
      "let\nanswers under way finish (serve.grace) and end it with status 75. All keys: triax "
      "config --reference.\nThe guide: jobs/guides/serve.md");
  add_options(command, *arguments);
  command->callback([arguments, &context] { context.status = run(*arguments, context); });
}

}  // namespace triax

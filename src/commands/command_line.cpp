// SPDX-License-Identifier: Apache-2.0
#include "src/commands/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/isa/isa.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/adapter/adapter_command.hpp"
#include "src/commands/checkpoint_commands.hpp"
#include "src/commands/config_command.hpp"
#include "src/commands/data/data_commands.hpp"
#include "src/commands/doctor_command.hpp"
#include "src/commands/evaluate/evaluate_command.hpp"
#include "src/commands/failure.hpp"
#include "src/commands/generate/generate_command.hpp"
#include "src/commands/plan_command.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/commands/serve/batch_command.hpp"
#include "src/commands/serve/serve_command.hpp"
#include "src/commands/tokenizer/tokenizer_command.hpp"
#include "src/commands/train_command.hpp"
#include "src/commands/view/report_command.hpp"
#include "src/commands/view/trace_command.hpp"
#include "src/commands/view/watch_command.hpp"
#include "src/config/source/spelling.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace triax {
namespace {

// The order of --help.
constexpr std::array<Command, 15> command_table = {{
    {"train", Launch::run, add_train},
    {"plan", Launch::ranks, add_plan},
    {"config", Launch::alone, add_config},
    {"evaluate", Launch::ranks, add_evaluate},
    {"generate", Launch::ranks, add_generate},
    {"serve", Launch::run, add_serve},
    {"batch", Launch::run, add_batch},
    {"checkpoint", Launch::ranks, add_checkpoint},
    {"adapter", Launch::ranks, add_adapter},
    {"tokenizer", Launch::alone, add_tokenizer},
    {"data", Launch::ranks, add_data},
    {"report", Launch::ranks, add_report},
    {"watch", Launch::alone, add_watch},
    {"trace", Launch::ranks, add_trace},
    {"doctor", Launch::ranks, add_doctor},
}};

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Error of a wrong command line, with the nearest known name.
UsageError command_line_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  const std::string help = fmt::format("See {} --help", name);
  const std::vector<std::string> commands = subcommands_of(*command);
  const std::vector<std::string> left = command->remaining();
  if (left.empty() && !commands.empty())
    return UsageError(name + " needs a command", fmt::format("{}", fmt::join(commands, ", ")),
                      help);
  if (left.empty()) return UsageError(error.what(), {}, help);
  const std::string word = left.front().substr(0, left.front().find('='));
  if (word.starts_with("-"))
    return UsageError(fmt::format("{} has no option {}", name, word),
                      "nearest: " + nearest_word(word, options_of(*command)), help);
  if (!commands.empty())
    return UsageError(fmt::format("{} has no command {}", name, word),
                      "nearest: " + nearest_word(word, commands), help);
  return UsageError(fmt::format("one argument too many for {}: {}", name, left.front()), {}, help);
}

// Parses and runs the command line, --help and --version included.
void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw command_line_error(app, error);
    std::ostringstream text;
    app.exit(error, text, text);
    if (launched_process().number == 0)
      print_out(text.str());  // once per job: every process has the same text
  }
}

}  // namespace

Launch launch_of(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (words.empty() || words.front() == "--version" || std::ranges::any_of(words, is_help))
    return Launch::alone;
  const auto found = std::ranges::find(command_table, words.front(), &Command::name);
  return found != command_table.end() ? found->launch : Launch::ranks;
}

int run_command_line(int argc, char** argv, CommandContext& context) {
  CLI::App app{"triax trains large language models on MPI clusters: one program, no Python.",
               "triax"};
  app.set_version_flag(
      "--version", fmt::format("triax {}, {}\n{}", version, text_of(isa_in_use()), build_facts()));
  app.require_subcommand(1);
  app.footer(fmt::format(
      "Each command has a --help of its own. A first run: jobs/quickstart.sh\n"
      "Exit status: 0 done; {} wrong job file or command line; {} a failure while running; {} "
      "stopped by SIGUSR1, SIGTERM, SIGHUP or the clock with a checkpoint written, or by a signal "
      "before the first step: run it again.",
      usage_failure, run_time_failure, stopped_early));
  for (const Command& command : command_table) command.add(app, context);
  // StartSignals ends first: a signal caused by the end of other ranks must not change the status.
  const auto ended_by = [&](const std::string& text, int failure) {
    context.start.reset();
    return fail(context.session, text, failure);
  };
  try {
    parse(app, argc, argv);
    return context.status;
  } catch (const UsageError& error) {
    return ended_by(error.what(), usage_failure);
  } catch (const std::exception& error) {
    return ended_by(failure_text(error), run_time_failure);
  }
}

}  // namespace triax

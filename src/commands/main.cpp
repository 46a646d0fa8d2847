// The command line of triax.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "io/files/open_files.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/say.hpp"
#include "kernels/isa/isa.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/watchdog/watchdog.hpp"
#include "src/commands/checkpoint_commands.hpp"
#include "src/commands/commands.hpp"
#include "src/commands/generate_command.hpp"
#include "src/commands/huggingface_commands.hpp"
#include "src/commands/option_checks.hpp"
#include "src/commands/process/hangup.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/source/spelling.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/launch/run_requests.hpp"
#include "src/version/build_facts.hpp"
#include "src/version/version.hpp"

namespace {

using namespace triax;

struct Arguments {
  JobArguments job;
  std::optional<StartSignals>& start;
};

CLI::Option* add_overrides(CLI::App* command, JobArguments& job) {
  return command
      ->add_option("--set", job.overrides,
                   "Override one key of the job by its dotted path, as parallel.tensor=2; may be "
                   "given many times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)  // the next word is the job file's, or another option
      ->take_all();
}

void add_train(CLI::App& app, Arguments& arguments, MpiSession& session, int& status) {
  JobArguments& job = arguments.job;
  CLI::App* command = app.add_subcommand("train", "Train a model as a job file says.");
  command->footer(
      "Runs alike under mpiexec -n N, srun --mpi=pmi2, and as one process:\n"
      "  triax train job.json\n"
      "  mpiexec -n 4 triax train job.json --set parallel.tensor=2 --set run.steps=200\n"
      "A job whose checkpoints are there is resumed (checkpoint.resume), on any grid. A batch job\n"
      "that is run again goes on from its own, whatever checkpoint.resume says: of Slurm by its\n"
      "number, of others where the environment has TRIAX_JOB_ID, the same in each of its runs.\n"
      "Files that a job reads are looked for from the working directory, else from the job "
      "file's;\n"
      "run.directory and checkpoints are relative to the working directory alone.\n"
      "Jobs to start from: jobs/examples. The keys of a job: triax config --reference");
  command->add_option("JOB.json", job.job, "The job file (JSON)")->type_name("")->required();
  add_overrides(command, job);
  command->add_flag("--print-plan", job.print_plan,
                    "Print the instructions of a step for each stage, and stop");
  command->add_flag(
      "--dry-run", job.dry_run,
      "Print the memory of each rank by kind and the messages of a step, and stop; status 2 where "
      "the job does not fit");
  command->add_flag("--json", job.json,
                    "With --dry-run or --print-plan: print JSON, one object of what both have");
  command
      ->add_option(
          "--ranks-per-node", job.ranks_per_node,
          "With --dry-run or --print-plan in one process: nodes of so many ranks, which must fit a "
          "machine such as this one together (default: not known, each rank must fit; "
          "fsdp.sharding_strategy HYBRID_SHARD cuts state within nodes)")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30));
  command->callback([&] {
    if (job.json && !job.dry_run && !job.print_plan)
      throw UsageError("--json is for what --dry-run and --print-plan print", {},
                       "Add one of them, or leave it out: a run writes metrics.jsonl");
    if (job.dry_run || job.print_plan) {
      arguments.start.reset();
      release_signals();
      show_plan(job, session);
    } else {
      status = train(job, session, arguments.start);
    }
  });
}

void add_config(CLI::App& app, Arguments& arguments) {
  JobArguments& job = arguments.job;
  CLI::App* command = app.add_subcommand(
      "config", "Show a job with every default filled in, and where each value came from.");
  command->footer(
      "  triax config job.json --ranks 8    # what \"auto\" means on 8 ranks\n"
      "  triax config --reference           # every key that a job may have");
  CLI::Option* file =
      command->add_option("JOB.json", job.job, "The job file (JSON)")->type_name("");
  CLI::Option* overrides = add_overrides(command, job);
  CLI::Option* ranks =
      command
          ->add_option("--ranks", job.ranks,
                       "Resolve for so many ranks (default: the smallest grid that the job allows)")
          ->type_name("N")
          ->check(whole_number(1, 1 << 30));
  command->add_flag("--json", job.json, "Print JSON");
  CLI::Option* reference = command->add_flag(
      "--reference", job.reference, "Show every key: type, unit, default, allowed values, meaning");
  for (CLI::Option* of_a_job : {file, overrides, ranks}) reference->excludes(of_a_job);
  command->callback([&, file, reference] {
    if (file->count() == 0 && reference->count() == 0)
      throw UsageError("triax config needs a job file or --reference", {},
                       "See triax config --help");
    print_config(job);
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
}

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

// What CLI11 found wrong with the command line, with the name that was probably meant.
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

// Does what the command line says; help and version are among it.
void parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw command_line_error(app, error);
    std::ostringstream text;
    app.exit(error, text, text);
    if (launched_process().number == 0) print_out(text.str());  // the same in all of a job
  }
}

int run(int argc, char** argv, MpiSession& session, std::optional<StartSignals>& start,
        std::chrono::system_clock::time_point started) {
  CLI::App app{"triax trains large language models on supercomputers: one binary, no Python.",
               "triax"};
  app.set_version_flag(
      "--version", fmt::format("triax {}, {}\n{}", version, text_of(isa_in_use()), build_facts()));
  app.require_subcommand(1);
  app.footer(
      "Each command has a --help of its own. A first run: jobs/quickstart.sh\n"
      "Exit status: 0 done; 2 wrong job file or command line; 3 a failure while running; 75 "
      "stopped by "
      "SIGUSR1, SIGTERM, SIGHUP or the clock with a checkpoint written, or by a signal before the "
      "first "
      "step: run it again.");
  Arguments arguments{{}, start};
  arguments.job.started = started;
  int status = 0;
  add_train(app, arguments, session, status);
  add_config(app, arguments);
  add_generate(app, session);
  add_checkpoint(app, session, status);
  add_huggingface(*app.get_subcommand("checkpoint"), session);
  add_commands_to_come(app);
  // A signal that comes with the end of other ranks is not to change the status.
  const auto ended_by = [&](const std::string& text, int failure) {
    start.reset();
    return fail(session, text, failure);
  };
  try {
    parse(app, argc, argv);
    return status;
  } catch (const UsageError& error) {
    return ended_by(error.what(), usage_failure);
  } catch (const std::exception& error) {
    return ended_by(failure_text(error), run_time_failure);
  }
}

// In the shell of a batch job MPI may not start, or may wait for processes that never come.
bool needs_ranks(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (words.empty() || words.front() == "--version" || words.front() == "config") return false;
  return std::ranges::none_of(words, is_help);
}

// Before MPI starts, which would end without a word. All ranks find the same, and the first says
// it.
bool libraries_fit() {
  try {
    check_libraries_fit();
    return true;
  } catch (const Error&) {
    if (launched_process().number == 0) throw;
    return false;
  }
}

int start_and_run(int argc, char** argv, std::chrono::system_clock::time_point started) {
  std::optional<StartSignals> start;
  // One that comes while libraries start asks the run that is to come, too.
  if (argc > 1 && std::string_view(argv[1]) == "train") {
    if (needs_ranks(argc, argv) && !libraries_fit()) return run_time_failure;
    hold_signals();
    start.emplace(stopped_early);
  }
  MpiSession session =
      needs_ranks(argc, argv)
          ? MpiSession(&argc, &argv)
          : MpiSession(MpiSession::Alone{argc > 1 ? 0 : launched_process().number});
  if (start) start->mpi_started(session.rank(), session.size());
  name_unreadable_files();  // what MPI loads may have put a handler of its own
  restore_hangup();
  const int status = run(argc, argv, session, start, started);
  session.ends_with(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const auto started = std::chrono::system_clock::now();  // run.time_limit counts from here
  // A file at the limit of ulimit -f is an error of its write (EFBIG), which has a text.
  std::signal(SIGXFSZ, SIG_IGN);
  restore_hangup();
  name_unreadable_files();
  allow_more_open_files();
  spdlog::set_default_logger(spdlog::stderr_color_st("triax"));
  spdlog::set_pattern("%v");
  try {
    return start_and_run(argc, argv, started);
  } catch (const std::exception& error) {  // before there was a session
    say("triax: {}\n", failure_text(error));
    return dynamic_cast<const UsageError*>(&error) != nullptr ? usage_failure : run_time_failure;
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "src/commands/view/trace_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "kernels/parallel/runtime.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/launch/threads.hpp"
#include "src/machine/description.hpp"
#include "src/machine/here/this_machine.hpp"
#include "src/trace/comparison.hpp"
#include "src/trace/write_trace.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string directory;
  std::string machine;  // empty: by the run's device
  int top = 10;
  bool json = false;
};

constexpr const char* run_itself = "run";

void compare_run(const Arguments& arguments) {
  const RunTrace trace = read_trace(fmt::format("{}/{}", arguments.directory, trace_file));
  std::string name = arguments.machine;
  if (name.empty()) name = trace.on_gpu ? "h100" : "this";
  const KernelRuntime runtime(name == "this" ? threads_of_planned_rank(1) : 1);
  const TracedJob job = traced_job(trace, arguments.directory + "/job.json");
  Timeline predicted;
  std::string how;
  if (name == run_itself) {
    predicted = replayed(job, trace);
    how = "the plan with this run's mean durations, and messages that take no time";
  } else {
    Machine machine = name == "this" ? this_machine(trace.ranks_per_node) : find_machine(name);
    machine.ranks_per_node = trace.ranks_per_node;
    predicted = predicted_by(job, machine);
    how = name == "this" ? "the plan on this node, measured now"
                         : fmt::format("the plan on the machine {}", name);
  }
  const TraceComparison result =
      compare(trace, job, predicted, static_cast<std::size_t>(arguments.top));
  print_out(arguments.json ? comparison_json(result, how) : comparison_text(result, how));
}

void add_compare(CLI::App* parent, CommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = parent->add_subcommand(
      "compare", "Set the traced steps of a run beside the prediction of its plan.");
  command->footer(
      "  triax train job.json --set 'run.trace_steps=[10, 12]'\n"
      "  triax trace compare runs/demo\n"
      "  triax trace compare runs/demo --machine run\n"
      "The differences say what the figures of the machine miss; with --machine run, the plan "
      "with the\nrun's own durations, they say what is lost to messages and to waiting for them.");
  command
      ->add_option("RUN_DIR", arguments->directory, "run.directory, with trace.json and job.json")
      ->type_name("")
      ->required();
  command
      ->add_option("--machine", arguments->machine,
                   "As for triax plan; or run: the durations of the trace (default: this for a run "
                   "on CPUs, measured on the spot, and h100 for one on GPUs)")
      ->type_name("NAME|FILE");
  command->add_option("--top", arguments->top, "Single instructions to show (default: 10)")
      ->type_name("K")
      ->check(whole_number(1, 1000));
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &context] {
    if (context.session.rank() == 0) compare_run(*arguments);
  });
}

}  // namespace

void add_trace(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("trace", "Look at the times of a run's instructions (run.trace_steps).");
  command->require_subcommand(1);
  add_compare(command, context);
}

}  // namespace triax

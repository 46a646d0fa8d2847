// SPDX-License-Identifier: Apache-2.0
#include "src/commands/view/report_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/files/durable.hpp"
#include "kernels/base/check.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/machine/description.hpp"
#include "src/report/report.hpp"

namespace triax {
namespace {

struct Arguments {
  std::vector<std::string> directories;
  std::string out, machine;
};

void report(const Arguments& arguments) {
  std::vector<RunData> runs;
  for (const std::string& directory : arguments.directories) runs.push_back(read_run(directory));
  const std::string path = !arguments.out.empty() ? arguments.out
                           : runs.size() == 1     ? runs.front().directory + "/report.html"
                                                  : std::string("report.html");
  std::optional<Machine> machine;
  if (!arguments.machine.empty()) machine = find_machine(arguments.machine);
  std::optional<KernelRuntime> runtime;
  if (std::ranges::any_of(runs, has_trace)) runtime.emplace(1);
  try {
    write_durably(path, report_html(runs, machine));
  } catch (const Error& error) {
    throw Error(fmt::format("cannot write {}", path), error.what(),
                "Set --out to a file in a directory that you may write to");
  }
  print_out(path + "\n");
}

}  // namespace

void add_report(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "report", "Write the curves, events and traced steps of runs as one HTML file.");
  command->footer(
      "  triax report runs/demo                # writes runs/demo/report.html\n"
      "  triax report runs/a runs/b            # both over each other, and what differs: "
      "report.html\n"
      "The file opens offline and sends nothing. It works while the run goes on: run it again for "
      "newer\nnumbers. A step in time is shown if the run has a trace (run.trace_steps).");
  command->add_option("RUN_DIR", arguments->directories, "run.directory of each run")
      ->type_name("")
      ->required();
  command
      ->add_option("--out", arguments->out,
                   "The file to write (default: report.html in RUN_DIR; in the working directory "
                   "for several)")
      ->type_name("FILE");
  command
      ->add_option("--machine", arguments->machine,
                   "Also show the traced step as predicted for this machine, as for triax plan "
                   "(a preset or a JSON file)")
      ->type_name("NAME|FILE");
  command->callback([arguments, &context] {
    if (context.session.rank() == 0) report(*arguments);
  });
}

}  // namespace triax

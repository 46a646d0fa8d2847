// SPDX-License-Identifier: Apache-2.0
#include "src/commands/config_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "src/axolotl/translate.hpp"
#include "src/commands/job_arguments.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/load/describe.hpp"

namespace triax {
namespace {

struct ConfigArguments {
  JobArguments job;
  std::string axolotl;  // of --from-axolotl
  bool json = false, markdown = false, reference = false;
  int ranks = 0;  // 0: the smallest grid that the job allows
};

void print_axolotl(const std::string& file) {
  std::vector<std::string> missing;
  print_out(axolotl_job_text(file, missing));
  warn_of_missing(missing);
}

void print_config(const ConfigArguments& arguments) {
  if (arguments.reference) {
    print_out(key_reference(arguments.json       ? ReferenceFormat::json
                            : arguments.markdown ? ReferenceFormat::markdown
                                                 : ReferenceFormat::table));
    return;
  }
  if (!arguments.axolotl.empty()) return print_axolotl(arguments.axolotl);
  const JobDescription job =
      describe_job(arguments.job.job, arguments.job.overrides, arguments.ranks, arguments.json);
  print_out(job.text);
  warn_of_missing(job.missing);
}

}  // namespace

void add_config(CLI::App& app, CommandContext& /*context*/) {
  const auto arguments = std::make_shared<ConfigArguments>();
  CLI::App* command = app.add_subcommand(
      "config", "Show a job with every default filled in, and where each value came from.");
  command->footer(
      "  triax config job.json --ranks 8    # what \"auto\" means on 8 ranks\n"
      "  triax config --reference           # every key that a job may have\n"
      "  triax config --reference --markdown >keys.md\n"
      "  triax config --from-axolotl config.yml >job.json   # what each of its keys becomes");
  CLI::Option* file =
      command->add_option("JOB.json", arguments->job.job, "The job file (JSON)")->type_name("");
  CLI::Option* overrides = add_overrides(command, arguments->job.overrides);
  CLI::Option* ranks =
      command
          ->add_option("--ranks", arguments->ranks,
                       "Resolve for N ranks (default: the smallest grid that the job allows)")
          ->type_name("N")
          ->check(whole_number(1, 1 << 30));
  CLI::Option* json = command->add_flag("--json", arguments->json, "Print JSON");
  CLI::Option* reference =
      command->add_flag("--reference", arguments->reference,
                        "Show every key: type, unit, default, allowed values, meaning");
  CLI::Option* axolotl =
      command
          ->add_option("--from-axolotl", arguments->axolotl,
                       "Print the job that an Axolotl file stands for, with comments")
          ->type_name("config.yml");
  for (CLI::Option* of_a_job : {file, overrides, ranks}) {
    reference->excludes(of_a_job);
    axolotl->excludes(of_a_job);
  }
  axolotl->excludes(reference)->excludes(json);
  command
      ->add_flag("--markdown", arguments->markdown,
                 "With --reference: print Markdown, one table per section")
      ->needs(reference)
      ->excludes(json);
  command->callback([arguments, file, reference, axolotl] {
    if (file->count() + reference->count() + axolotl->count() == 0)
      throw UsageError("triax config needs a job file, --reference or --from-axolotl", {},
                       "See triax config --help");
    print_config(*arguments);
  });
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/commands/plan_command.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>

#include "kernels/base/exit_status.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/job_arguments.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/launch/threads.hpp"
#include "src/machine/description.hpp"
#include "src/machine/here/this_machine.hpp"
#include "src/planner/enumerate.hpp"
#include "src/planner/fit.hpp"
#include "src/planner/methods.hpp"
#include "src/planner/plan_report.hpp"
#include "src/price/step_times.hpp"

namespace triax {
namespace {

struct PlanOptions {
  JobArguments job;
  int ranks = 8, ranks_per_node = 0;  // 0: the machine's
  std::string machine = "h100";
  double memory = 0.0;  // bytes; 0: the machine's
  std::size_t top = 5;
  double tokens = 0.0;
  bool json = false, explain = false, fit = false;
  std::string write;
};

Machine machine_of(const PlanOptions& options) {
  Machine machine = options.machine == "this" ? this_machine(options.ranks_per_node)
                                              : find_machine(options.machine);
  if (options.ranks_per_node > 0) machine.ranks_per_node = options.ranks_per_node;
  if (options.memory > 0.0) machine.memory = options.memory;
  return machine;
}

void write_job(const std::string& path, const Candidate& candidate, const JobToPlan& job) {
  std::ofstream file(path);
  file << job_with(candidate, job, path) << std::flush;
  if (!file)
    throw Error(fmt::format("cannot write {}", path), "the file could not be opened or written",
                "Set --write to a file in a directory that you may write to");
  spdlog::info("{}: the job with the first layout", path);
}

int plan(const PlanOptions& options) {
  const KernelRuntime runtime(options.machine == "this" ? threads_of_planned_rank(1) : 1);
  const Machine machine = machine_of(options);
  const JobToPlan job = job_to_plan(options.job.job, options.job.overrides, options.ranks, machine);
  check_type(job.base, machine);
  const LayoutEvaluator evaluator(job, machine);
  const std::vector<Candidate> layouts = enumerate(job.base, machine, options.ranks);
  const auto evaluate = [&](const Candidate& one) { return evaluator.evaluate(one); };
  if (options.fit) {
    print_out(fit_text(job, machine, options.ranks));
    return 0;
  }
  if (options.explain) {
    const auto results = compare_methods(layouts, job.base, machine, evaluate);
    print_out(explanation(results, job, machine, options.ranks));
    return recommended(results) == nullptr ? usage_failure : 0;
  }
  const Search found = search(layouts, job.base, machine, options.top, evaluate);
  const PlanReport report{job, machine, options.ranks, found};
  print_out(options.json ? report_json(report, options.tokens)
                         : report_text(report, options.tokens));
  if (found.best.empty()) return usage_failure;
  if (!options.write.empty()) write_job(options.write, found.best.front().candidate, job);
  return 0;
}

void add_options(CLI::App* command, PlanOptions& options) {
  command->add_option("JOB.json", options.job.job, "The job file (JSON)")
      ->type_name("")
      ->required();
  add_overrides(command, options.job.overrides);
  command->add_option("--ranks", options.ranks, "Ranks, one per GPU (default: 8)")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
  command
      ->add_option("--ranks-per-node", options.ranks_per_node,
                   "Ranks per node (default: the machine's)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command
      ->add_option("--machine", options.machine,
                   "h100, h200, a100, v100, cpu, this (the node's processors, measured on the "
                   "spot), or a JSON file (default: h100)")
      ->type_name("NAME|FILE");
  command
      ->add_option("--device-memory", options.memory,
                   "Memory of a rank, as 40GB or 80GiB (default: the machine's)")
      ->type_name("BYTES")
      ->transform(CLI::Validator(size(), ""));
  command->add_option("--top", options.top, "Layouts to show (default: 5)")
      ->type_name("K")
      ->check(whole_number(1, 100));
  command
      ->add_option("--tokens", options.tokens,
                   "Also print days, device hours and energy of training on N tokens")
      ->type_name("N")
      ->check(number(1, 1e18));
  CLI::Option* json = command->add_flag("--json", options.json, "Print JSON");
  CLI::Option* explain = command->add_flag(
      "--explain", options.explain,
      "Compare methods instead (data parallel, ZeRO-1 to ZeRO-3, offload, tensor, 3D), and say in "
      "sentences for which one the numbers speak, and why");
  CLI::Option* fit =
      command->add_flag("--fit", options.fit,
                        "Print the least memory per rank on --ranks ranks, and the fewest ranks of "
                        "the machine (powers of two), that the job needs");
  command
      ->add_option("--write", options.write,
                   "Write a job file that extends the job with the keys of the first layout")
      ->type_name("JOB.json")
      ->excludes(explain)
      ->excludes(fit);
  json->excludes(explain)->excludes(fit);
  explain->excludes(fit);
}

}  // namespace

void add_plan(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Find the quickest layout of a job on a machine, and say how long a step takes.");
  command->footer(
      "  triax plan job.json --ranks 128 --machine h100\n"
      "  triax plan job.json --ranks 16 --device-memory 40GB --write planned.json\n"
      "  triax train planned.json --dry-run\n"
      "  triax plan job.json --ranks 4 --device-memory 40GB --explain\n"
      "All grids, schedules, micro-batches, ZeRO stages, recomputations and offloads that fit are\n"
      "compared. The plan that would run is simulated with the machine's figures; its memory is\n"
      "that of triax train --dry-run. No GPU is needed. Keys of the layout in the job file are\n"
      "replaced; the batch, the model and all else stay. jobs/guides/plan.md has the format of\n"
      "machine files, and says how far the predictions are from measured runs.");
  add_options(command, *options);
  command->callback([options, &context] {
    if (context.session.rank() == 0) context.status = plan(*options);
  });
}

}  // namespace triax

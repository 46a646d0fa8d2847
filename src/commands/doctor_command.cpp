// SPDX-License-Identifier: Apache-2.0
#include "src/commands/doctor_command.hpp"

#include <fmt/chrono.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/doctor/diagnosis.hpp"
#include "src/doctor/report.hpp"
#include "src/launch/job_end.hpp"

namespace triax {
namespace {

struct Arguments {
  std::vector<std::string> directories = {"."};
  bool json = false;
};

// "the job ends at 2026-11-27 18:00:00, in 2 h 13 min"; empty outside of a Slurm job.
std::string job_end_text() {
  const auto end = job_end(surroundings());
  if (!end) return {};
  const auto minutes =
      std::chrono::duration_cast<std::chrono::minutes>(*end - std::chrono::system_clock::now())
          .count();
  return fmt::format("the job ends at {:%Y-%m-%d %H:%M:%S}, in {} h {} min",
                     fmt::localtime(std::chrono::system_clock::to_time_t(*end)), minutes / 60,
                     minutes % 60);
}

// check_launch() refuses processes that MPI did not connect: each would report only itself.
int examine(const Arguments& arguments, const MpiSession& session) {
  check_launch(MPI_COMM_WORLD);
  GridShape shape;
  shape.data = session.size();
  constexpr double timeout = 120.0;
  ProcessGrid grid(MPI_COMM_WORLD, shape, {}, timeout, MemorySpace::host);
  std::vector<doctor::RankFacts> ranks;
  {
    const doctor::RankFacts own = doctor::rank_facts(grid, arguments.directories);
    ranks = doctor::gather_facts(grid, own);
  }
  const std::vector<doctor::Finding> found = doctor::findings(ranks);
  agreed(grid, [&] {
    if (grid.rank() != 0) return;
    print_out(arguments.json ? doctor::report_json(ranks, found, job_end_text())
                             : doctor::report_text(ranks, found, job_end_text()));
  });
  return doctor::has_problem(found) ? run_time_failure : 0;
}

}  // namespace

void add_doctor(CLI::App& app, CommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Look at the machine, the ranks and directories: what is wrong, and what to do.");
  command->footer(
      "  triax doctor                                   # this machine and this directory\n"
      "  srun --mpi=pmi2 triax doctor /scratch/me/run   # compares all ranks of the allocation\n"
      "Exit status: 0 no problem (notes do not count); 3 a problem, with what to do about it.");
  command
      ->add_option("DIRECTORY", arguments->directories,
                   "Directories for runs, checkpoints or offload (default: the working directory)")
      ->type_name("");
  command->add_flag("--json", arguments->json, "Print JSON: the facts of every rank");
  command->callback(
      [arguments, &context] { context.status = examine(*arguments, context.session); });
}

}  // namespace triax

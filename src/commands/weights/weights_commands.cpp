// SPDX-License-Identifier: Apache-2.0
#include "src/commands/weights/weights_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/tools/checkpoint_average.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/analyze/checkpoint_analysis.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/launch/output_target.hpp"

namespace triax {
namespace {

struct AverageArguments {
  std::vector<std::string> files;
  std::vector<double> shares;
  std::string out;
  bool force = false;
};

void average(const AverageArguments& arguments, const MpiSession& session) {
  std::optional<OutputTarget> target;
  agreed(MPI_COMM_WORLD, [&] {
    if (session.rank() != 0) return;
    target.emplace(arguments.out, OutputTarget::Kind::file);
    if (!arguments.force && std::filesystem::exists(std::filesystem::symlink_status(arguments.out)))
      throw UsageError(fmt::format("{} is there already", arguments.out), {},
                       "Give another name, or --force");
  });
  const AverageSummary sum =
      average_checkpoints(arguments.files, arguments.shares, arguments.out,
                          arguments.force ? Existing::replaced : Existing::kept, MPI_COMM_WORLD);
  if (session.rank() == 0)
    print_summary(
        fmt::format("{}: the average of {} files, {} tensors, {}, {} bytes, step {}, no "
                    "optimizer state\n",
                    arguments.out, arguments.files.size(), sum.tensors, name_of(sum.type),
                    sum.bytes, sum.step));
}

void add_average(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand(
      "average", "Write a checkpoint with the mean of the weights of several.");
  command->footer(
      "  triax checkpoint average runs/demo/checkpoints/step-000[789]00.h5 --out mean.h5\n"
      "  triax checkpoint average a.h5 b.h5 --shares 3 1 --out mixed.h5\n"
      "  triax checkpoint export mean.h5 --to huggingface out\n"
      "The files must be of one model. The sums are in double, of the float32 weights where all "
      "files have\nthem. The result has the step, the job and the tokenizer of the newest file, "
      "and no optimizer state.\nIts inputs are held against their checksums first.");
  const auto arguments = std::make_shared<AverageArguments>();
  command->add_option("FILE", arguments->files, "Checkpoint files")->type_name("")->required();
  command
      ->add_option("--shares", arguments->shares,
                   "A number per file; they are divided by their sum (default: equal)")
      ->type_name("W...");
  command->add_option("--out", arguments->out, "The checkpoint to write; its directory is made")
      ->type_name("FILE")
      ->required();
  command->add_flag("--force", arguments->force, "Replace FILE where it is there");
  command->callback([arguments, &session] { average(*arguments, session); });
}

struct AnalyzeArguments {
  std::vector<std::string> files;
  int values = 16;
  bool json = false, all = false;
};

void analyze(const AnalyzeArguments& arguments, const MpiSession& session) {
  const KernelRuntime runtime(1);
  const CheckpointAnalysis analysis =
      analyze_checkpoints(arguments.files, arguments.all, arguments.values, MPI_COMM_WORLD);
  if (session.rank() == 0)
    print_out(arguments.json ? analysis_json(analysis) : analysis_text(analysis));
}

void add_analyze(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand(
      "analyze",
      "Show norms and singular values of a checkpoint's weights, and their drift over several.");
  command->footer(
      "  triax checkpoint analyze runs/demo/checkpoints/step-000100.h5\n"
      "  triax checkpoint analyze a/step-000100.h5 a/step-000200.h5    # drift since the first\n"
      "  mpiexec -n 8 triax checkpoint analyze FILE                    # the ranks share the "
      "tensors\n"
      "Singular values are found by randomized subspace iteration: of matrices with long sides "
      "they are\nlower bounds, near the truth for the largest.");
  const auto arguments = std::make_shared<AnalyzeArguments>();
  command->add_option("FILE", arguments->files, "Checkpoint files of one model")
      ->type_name("")
      ->required();
  command
      ->add_option("--values", arguments->values,
                   "Singular values per matrix; 0: none, which is much faster (default: 16)")
      ->type_name("K")
      ->check(whole_number(0, 1000));
  command->add_flag("--all", arguments->all,
                    "Also the optimizer's tensors and float32 copies of weights");
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &session] { analyze(*arguments, session); });
}

}  // namespace

void add_weights_commands(CLI::App& checkpoint, const MpiSession& session) {
  add_average(checkpoint, session);
  add_analyze(checkpoint, session);
}

}  // namespace triax

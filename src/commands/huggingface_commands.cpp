// SPDX-License-Identifier: Apache-2.0
#include "src/commands/huggingface_commands.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/options/weights_option.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/huggingface/adapter_folder.hpp"
#include "src/huggingface/huggingface_export.hpp"
#include "src/huggingface/huggingface_import.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string from, to, format, type, weights = "trained";
  std::int64_t shard_bytes = 5'000'000'000;
  bool force = false;
};

// The arguments live as long as the callback that reads them.
using Shared = std::shared_ptr<Arguments>;

const std::map<std::string, DType> types = {
    {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};

std::optional<DType> type_of(const Arguments& arguments) {
  if (arguments.type.empty()) return {};
  return types.at(arguments.type);
}

void add_type(CLI::App* command, const Shared& arguments, const char* meaning) {
  command->add_option("--dtype", arguments->type, meaning)
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
}

void run_export(const Arguments& arguments, const MpiSession& session) {
  const KernelRuntime runtime(1);
  const ExportOptions options{type_of(arguments), arguments.shard_bytes, arguments.force, true,
                              saved_weights(arguments.weights)};
  const ExportSummary sum =
      export_huggingface(arguments.from, arguments.to, options, MPI_COMM_WORLD);
  if (session.rank() != 0) return;
  if (!sum.verified)
    spdlog::warn("{} has no checksums: its data cannot be verified", arguments.from);
  print_summary(fmt::format(
      "{}: {} tensors, {}, {} bytes in {} file{}; {}\n", arguments.to, sum.tensors,
      name_of(sum.type), sum.bytes, sum.files, sum.files == 1 ? "" : "s",
      sum.tokenizer_files == 0 ? "no tokenizer: the checkpoint has none"
                               : fmt::format("{} file(s) of the tokenizer", sum.tokenizer_files)));
}

void run_export_adapter(const Arguments& arguments, const MpiSession& session) {
  const KernelRuntime runtime(1);
  const ExportOptions options{type_of(arguments), 0, arguments.force, true,
                              saved_weights(arguments.weights)};
  const AdapterSummary sum = export_adapter(arguments.from, arguments.to, options, MPI_COMM_WORLD);
  if (session.rank() != 0) return;
  if (!sum.verified)
    spdlog::warn("{} has no checksums: its data cannot be verified", arguments.from);
  print_summary(fmt::format("{}: {} tensors of adapters, {}, {} bytes\n", arguments.to, sum.tensors,
                            name_of(sum.type), sum.bytes));
}

void run_import(const Arguments& arguments) {
  const KernelRuntime runtime(1);
  const ImportSummary sum =
      import_huggingface(arguments.from, arguments.to, {type_of(arguments), arguments.force});
  print_summary(fmt::format("{}: {} tensors, {}, {} bytes, step 0, no optimizer state, {}\n",
                            arguments.to, sum.tensors, name_of(sum.type), sum.bytes,
                            sum.tokenizer.empty() ? "no tokenizer" : "tokenizer " + sum.tokenizer));
  for (const std::string& line : sum.warnings) spdlog::warn("{}", line);
}

void add_export(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand(
      "export", "Write a checkpoint's weights as a Hugging Face model directory.");
  command->footer(
      "config.json and model.safetensors, or shards with their index, as transformers'\n"
      "from_pretrained reads them, and the files of the checkpoint's tokenizer as they were.\n"
      "  triax checkpoint export runs/demo/checkpoints/step-000100.h5 --to huggingface out\n"
      "A checkpoint of adapters (section lora): merged into its base, or with --to peft as PEFT's\n"
      "adapter_config.json and adapter_model.safetensors, in float32.\n"
      "  triax checkpoint export FILE --to huggingface out --dtype bf16 --shard-size 2GB\n"
      "  triax checkpoint export FILE --to peft adapter\n"
      "  mpiexec -n 8 triax checkpoint export FILE --to huggingface out    # the ranks share the "
      "shards");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("FILE", arguments->from, "The checkpoint file")->type_name("")->required();
  command->add_option("--to", arguments->format, "The format: huggingface or peft")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"huggingface", "peft"}))
      ->required();
  command->add_option("OUT_DIR", arguments->to, "The directory to write to; it is made")
      ->type_name("")
      ->required();
  add_type(command, arguments,
           "f32, bf16 or f16 (default: the type of /model, unchanged). Another is rounded to "
           "nearest even, from the float32 weights of /master where the file has them");
  add_weights(command, arguments->weights);
  const CLI::Option* shards =
      command
          ->add_option("--shard-size", arguments->shard_bytes,
                       "Most bytes of a file, as 5000000000 or 5GB (1000-based; the default)")
          ->type_name("BYTES")
          ->transform(CLI::Validator(size(), ""));
  command->add_flag("--force", arguments->force, "Replace a model or adapter that OUT_DIR holds");
  command->callback([arguments, shards, &session] {
    if (arguments->format != "peft") return run_export(*arguments, session);
    if (shards->count() > 0)
      throw UsageError("--shard-size is not for --to peft", "PEFT reads one file", "Leave it out");
    run_export_adapter(*arguments, session);
  });
}

void add_import(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand(
      "import", "Make a checkpoint of step 0 from a Hugging Face model directory.");
  command->footer(
      "The file has weights and no optimizer state: a run that resumes it starts with moments of "
      "zero.\n"
      "  triax checkpoint import DIR --out gpt2.h5\n"
      "  triax generate gpt2.h5 --prompt \"The \"\n"
      "  triax train job.json --set checkpoint.resume=gpt2.h5");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option(
          "HF_DIR", arguments->from,
          "config.json, safetensors and the tokenizer's files; or the model's folder in the "
          "cache of Hugging Face's hub")
      ->type_name("")
      ->required();
  command->add_option("--out", arguments->to, "The checkpoint to write; its directory is made")
      ->type_name("FILE")
      ->required();
  add_type(command, arguments,
           "f32, bf16 or f16 (default: that of the files; f32 where they have several)");
  command->add_flag("--force", arguments->force, "Replace FILE where it is there");
  command->callback([arguments, &session] {
    agreed(MPI_COMM_WORLD, [&] {
      if (session.rank() == 0) run_import(*arguments);
    });
  });
}

}  // namespace

void add_huggingface(CLI::App& checkpoint, const MpiSession& session) {
  add_export(checkpoint, session);
  add_import(checkpoint, session);
}

}  // namespace triax

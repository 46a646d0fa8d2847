// SPDX-License-Identifier: Apache-2.0
#include "src/commands/quantize_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/huggingface/quantize_model.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string from, format, out;
  std::int64_t shard_bytes = 5'000'000'000;
  bool force = false;
};

void run(const Arguments& arguments, const MpiSession& session) {
  const KernelRuntime runtime(1);
  const ExportOptions options{{}, arguments.shard_bytes, arguments.force};
  const QuantizeSummary sum =
      quantize_model(arguments.from, arguments.format, arguments.out, options, MPI_COMM_WORLD);
  if (session.rank() != 0) return;
  print_summary(fmt::format("{}: {} of {} tensors in {}, the others in {}; {} bytes, before {}\n",
                            arguments.out, sum.quantized, sum.files.tensors, arguments.format,
                            name_of(sum.files.type), sum.files.bytes, sum.bytes_before));
}

}  // namespace

void add_quantize(CLI::App& checkpoint, const MpiSession& session) {
  CLI::App* command = checkpoint.add_subcommand(
      "quantize", "Write a Hugging Face model directory with its linear maps in 4 or 8 bits.");
  command->footer(
      "The bytes are those of bitsandbytes: transformers loads the directory with it, and triax\n"
      "takes it wherever it takes a model directory. Embeddings, head, norms and biases keep the\n"
      "files' type. double: the scales of nf4 or fp4 are quantized too.\n"
      "  triax checkpoint quantize base --to nf4-double --out base-nf4\n"
      "  mpiexec -n 8 triax checkpoint quantize base --to int8 --out base-int8    # the ranks "
      "share "
      "the shards");
  const auto arguments = std::make_shared<Arguments>();
  command
      ->add_option("DIR", arguments->from,
                   "config.json, safetensors and the tokenizer's files; or the model's folder in "
                   "the cache of Hugging Face's hub")
      ->type_name("")
      ->required();
  command
      ->add_option("--to", arguments->format,
                   "The format: nf4, nf4-double, fp4, fp4-double or int8")
      ->type_name("FORMAT")
      ->check(CLI::IsMember(quantized_formats()))
      ->required();
  command->add_option("--out", arguments->out, "The directory to write to; it is made")
      ->type_name("OUT_DIR")
      ->required();
  command
      ->add_option("--shard-size", arguments->shard_bytes,
                   "Most bytes of a file, as 5000000000 or 5GB (1000-based; the default)")
      ->type_name("BYTES")
      ->transform(CLI::Validator(size(), ""));
  command->add_flag("--force", arguments->force, "Replace a model that OUT_DIR holds");
  command->callback([arguments, &session] { run(*arguments, session); });
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/commands/adapter/adapter_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/huggingface/adapter_facts.hpp"
#include "src/huggingface/adapter_folder.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string a, b, out, type;
  std::int64_t shard_bytes = 5'000'000'000;
  bool force = false, json = false;
};

// The arguments live as long as the callback that reads them.
using Shared = std::shared_ptr<Arguments>;

const std::map<std::string, DType> types = {
    {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};

std::string inspect_as_json(const std::string& directory, const AdapterFacts& facts) {
  nlohmann::ordered_json modules = nlohmann::ordered_json::array();
  for (const AdaptedModule& module : facts.modules) {
    modules.push_back({{"module", module.name},
                       {"r", module.rank},
                       {"inputs", module.inputs},
                       {"outputs", module.outputs},
                       {"scale", module.scale},
                       {"a_norm", module.a_norm},
                       {"b_norm", module.b_norm},
                       {"finite", module.finite}});
    if (module.magnitude_norm) modules.back()["magnitude_norm"] = *module.magnitude_norm;
  }
  nlohmann::ordered_json saved = nlohmann::ordered_json::array();
  for (const SavedTensor& tensor : facts.saved)
    saved.push_back({{"tensor", tensor.name},
                     {"elements", tensor.shape.elements()},
                     {"norm", tensor.norm},
                     {"finite", tensor.finite}});
  const nlohmann::ordered_json out = {
      {"adapter", directory},         {"parameters", facts.parameters},
      {"dtype", name_of(facts.type)}, {"other_tensors", facts.others},
      {"config", facts.config},       {"modules", modules},
      {"saved_tensors", saved}};
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string inspect_as_text(const std::string& directory, const AdapterFacts& facts) {
  const nlohmann::json base = facts.config.value("base_model_name_or_path", nlohmann::json());
  std::string text = fmt::format("{}: {} modules, {} parameters, {}; base {}\n", directory,
                                 facts.modules.size(), facts.parameters, name_of(facts.type),
                                 base.is_string() ? base.get<std::string>() : "not said");
  std::size_t widest = 6;
  for (const AdaptedModule& module : facts.modules) widest = std::max(widest, module.name.size());
  text += fmt::format("{:<{}}  {:>5}  {:>7}  {:>7}  {:>8}  {:>9}  {:>9}\n", "module", widest, "r",
                      "inputs", "outputs", "scale", "|A|", "|B|");
  for (const AdaptedModule& module : facts.modules)
    text += fmt::format(
        "{:<{}}  {:>5}  {:>7}  {:>7}  {:>8.4g}  {:>9.4g}  {:>9.4g}{}{}\n", module.name, widest,
        module.rank, module.inputs, module.outputs, module.scale, module.a_norm, module.b_norm,
        module.magnitude_norm ? fmt::format("  |m| {:.4g}", *module.magnitude_norm) : "",
        module.finite ? "" : "  not finite");
  for (const SavedTensor& tensor : facts.saved)
    text += fmt::format("{}: trained whole, {}, norm {:.4g}{}\n", tensor.name, tensor.shape.text(),
                        tensor.norm, tensor.finite ? "" : "  not finite");
  for (const std::string& name : facts.others)
    text += fmt::format("{}: neither of a linear map's adapter nor of modules_to_save\n", name);
  return text;
}

void run_merge(const Arguments& arguments, const MpiSession& session) {
  const KernelRuntime runtime(1);
  ExportOptions options{{}, arguments.shard_bytes, arguments.force};
  if (!arguments.type.empty()) options.type = types.at(arguments.type);
  const MergeSummary sum =
      merge_adapter(arguments.a, arguments.b, arguments.out, options, MPI_COMM_WORLD);
  if (session.rank() != 0) return;
  print_summary(fmt::format(
      "{}: {} tensors, {} of them with their adapter (summed in float32, rounded once to {}), {} "
      "bytes in {} file{}\n",
      arguments.out, sum.files.tensors, sum.adapted, name_of(sum.files.type), sum.files.bytes,
      sum.files.files, sum.files.files == 1 ? "" : "s"));
}

void add_inspect(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand("inspect", "List the modules of an adapter.");
  command->footer("  triax adapter inspect runs/demo/adapter");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("DIR", arguments->a, "adapter_config.json and adapter_model.safetensors")
      ->type_name("")
      ->required();
  command->add_flag("--json", arguments->json, "Print JSON");
  command->callback([arguments, &session] {
    if (session.rank() != 0) return;
    const AdapterFacts facts = adapter_facts(arguments->a);
    print_out(arguments->json ? inspect_as_json(arguments->a, facts)
                              : inspect_as_text(arguments->a, facts));
  });
}

void add_merge(CLI::App& parent, const MpiSession& session) {
  CLI::App* command = parent.add_subcommand(
      "merge", "Write a base with an adapter merged as a Hugging Face model directory.");
  command->footer(
      "W + scale B A is summed in float32 and rounded once. The base's tokenizer is copied.\n"
      "  triax adapter merge base adapter --out merged\n"
      "  mpiexec -n 8 triax adapter merge base adapter --out merged    # the ranks share the "
      "shards");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("BASE", arguments->a, "config.json and safetensors of the base")
      ->type_name("")
      ->required();
  command->add_option("ADAPTER", arguments->b, "Folder of the adapter, in PEFT's format")
      ->type_name("")
      ->required();
  command->add_option("--out", arguments->out, "The directory to write to; it is made")
      ->type_name("DIR")
      ->required();
  command->add_option("--dtype", arguments->type, "f32, bf16 or f16 (default: that of the base)")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      ->add_option("--shard-size", arguments->shard_bytes,
                   "Most bytes of a file, as 5000000000 or 5GB (1000-based; the default)")
      ->type_name("BYTES")
      ->transform(CLI::Validator(size(), ""));
  command->add_flag("--force", arguments->force, "Replace a model that DIR holds");
  command->callback([arguments, &session] { run_merge(*arguments, session); });
}

void add_diff(CLI::App& parent, CommandContext& context) {
  CLI::App* command = parent.add_subcommand(
      "diff", "Compare two adapters: keys that matter, and tensors. Exit status 1: they differ.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("A", arguments->a, "Folder of an adapter")->type_name("")->required();
  command->add_option("B", arguments->b, "Folder of another")->type_name("")->required();
  command->callback([arguments, &context] {
    if (context.session.rank() != 0) return;
    const std::vector<std::string> lines = adapter_diff(arguments->a, arguments->b);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    print_out(lines.empty() ? "the adapters are equal\n" : text);
    context.status = lines.empty() ? 0 : 1;
  });
}

}  // namespace

void add_adapter(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("adapter", "Low-rank adapters in PEFT's format: inspect, merge, diff.");
  command->require_subcommand(1);
  add_inspect(*command, context.session);
  add_merge(*command, context.session);
  add_diff(*command, context);
}

}  // namespace triax

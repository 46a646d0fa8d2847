// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/step_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "benchmarks/support/arguments.hpp"
#include "benchmarks/support/training_job.hpp"

namespace triax::benchmark {
namespace {

std::int64_t usual_micro(const StepOptions& options) {
  return options.batch / options.data / options.pipeline;
}

// Options that differ from their defaults, because runs that differ are different cases.
std::string unusual(const StepOptions& options) {
  std::string text;
  if (micro_of(options) != usual_micro(options)) text += fmt::format(" micro {}", options.micro);
  if (!options.gradients.empty() && options.gradients != options.type)
    text += fmt::format(" gradients {}", options.gradients);
  if (options.schedule != StepOptions().schedule) text += " " + options.schedule;
  if (options.keep_outputs) text += " keep outputs";
  if (options.steps != StepOptions().steps) text += fmt::format(" steps {}", options.steps);
  if (!options.tokens.empty())
    text += " tokens " + std::filesystem::path(options.tokens).filename().string();
  return text;
}

// Options of the work and of its distribution.
void add_work(CLI::App& app, StepOptions& options) {
  std::vector<std::string> names;
  for (const auto& entry : model_shapes()) names.push_back(entry.first);
  app.add_option("--model", options.model)->check(CLI::IsMember(names))->capture_default_str();
  app.add_option("--layers", options.layers,
                 "Number of --model's layers to keep, to fit a machine (default: all)")
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "Sequences per step over all ranks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--micro", options.micro,
                 "Sequences per micro-batch (default: batch / data / pipeline)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seq", options.sequence, "Tokens per sequence")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Steps, the first of which is not counted")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  app.add_option("--tensor", options.tensor)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--pipeline", options.pipeline)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--data", options.data)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--zero", options.zero)->check(CLI::Range(0, 3))->capture_default_str();
}

}  // namespace

void add_options(CLI::App& app, StepOptions& options) {
  add_work(app, options);
  app.add_option("--type", options.type, "Type of parameters and activations: f32, bf16, f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--gradients", options.gradients, "Type of the gradients (default: --type)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  app.add_option("--schedule", options.schedule)->capture_default_str();
  add_threads(app, options.threads);
  app.add_option("--device", options.device, "Device to train on: cpu, gpu")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->capture_default_str();
  app.add_option("--peak-flops", options.peak_flops,
                 "FLOP/s of a GPU as its maker says, for mfu (default: no mfu)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--kernels", options.kernels,
               "On a GPU: one more step, timed kernel by kernel, with a line for each");
  app.add_option("--recompute", options.recompute,
                 "Recomputation of every layer: none, selective, full")
      ->check(CLI::IsMember({"none", "selective", "full"}))
      ->capture_default_str();
  app.add_flag("--keep-outputs", options.keep_outputs,
               "Keep the outputs of norms and of GELU (activation_checkpointing.keep_outputs)");
  app.add_option(
         "--from", options.from,
         "Directory of a Hugging Face model (config.json and safetensors) to train in place "
         "of --model")
      ->check(CLI::ExistingDirectory);
  app.add_option("--tokens", options.tokens,
                 "Shard of tokens in llm.c's format (default: random tokens)")
      ->check(CLI::ExistingFile);
  app.add_option("--case", options.name, "Name of the case in the line (default: what runs)");
  app.add_option("--program", options.program, "Name of the program, beside its peers")
      ->capture_default_str();
  app.add_option("--series", options.series,
                 "Name of the scaling series that this run is a point of (benchmarks/summarize)");
}

std::int64_t micro_of(const StepOptions& options) {
  return options.micro > 0 ? options.micro : usual_micro(options);
}

std::string case_of(const StepOptions& options, const std::string& place) {
  if (!options.name.empty()) return options.name;
  const std::string cut = options.layers > 0 ? fmt::format(" {} layers", options.layers) : "";
  return fmt::format("{}{} B={} T={} {} tensor {} pipeline {} data {} zero {} recompute {} {}{}",
                     options.from.empty() ? options.model : options.from, cut, options.batch,
                     options.sequence, options.type, options.tensor, options.pipeline, options.data,
                     options.zero, options.recompute, place, unusual(options));
}

}  // namespace triax::benchmark

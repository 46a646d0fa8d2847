// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate_command.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/inference/generate.hpp"
#include "src/launch/threads.hpp"

namespace triax {
namespace {

constexpr int byte_tokens = 256;  // the only tokenizer: one token per byte

struct Arguments {
  std::string checkpoint, prompt;
  SamplingOptions sampling{.tokens = byte_tokens};
  std::string device = "auto";
};

// Nothing: on a GPU if there is one.
std::optional<MemorySpace> space_of(const std::string& device) {
  if (device == "auto") return {};
  return device == "gpu" ? MemorySpace::device : MemorySpace::host;
}

// The prompt as tokens of the model: its bytes.
std::vector<std::int32_t> tokens_of(const std::string& prompt, const ModelConfig& model) {
  std::vector<std::int32_t> tokens;
  for (const unsigned char byte : prompt) {
    if (byte >= model.vocabulary)
      throw UsageError(fmt::format("byte {} of the prompt is not a token of the model", int{byte}),
                       fmt::format("its vocabulary has {} tokens", model.vocabulary),
                       "Use a model that was trained on bytes");
    tokens.push_back(byte);
  }
  if (model.vocabulary > byte_tokens)
    spdlog::warn("the model has {} tokens; those from {} on are not bytes and are never drawn",
                 model.vocabulary, byte_tokens);
  return tokens;
}

// Continues the prompt on standard output.
void generate(const Arguments& arguments) {
  if (arguments.prompt.empty())
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
  const KernelRuntime runtime(threads_of_planned_rank(1));
  const CheckpointReader reader(arguments.checkpoint);
  if (!reader.has_checksums())
    spdlog::warn("{} has no checksums: its data cannot be verified", arguments.checkpoint);
  std::int64_t length =
      static_cast<std::int64_t>(arguments.prompt.size()) + arguments.sampling.max_tokens;
  // Longer distances and positions were never trained.
  if (const std::int64_t trained = trained_length(reader.header()); trained < length) {
    spdlog::info("the model was trained on sequences of {0} tokens: it sees only the last {0}",
                 trained);
    length = trained;
  }
  Generator generator(reader, length, space_of(arguments.device));
  if (const std::string effect = rope_effect_of_length(generator.model(), generator.context());
      !effect.empty())
    spdlog::info("rotary positions: {}", effect);
  const std::vector<std::int32_t> tokens = tokens_of(arguments.prompt, generator.model());
  print_out(arguments.prompt);
  generator.generate(tokens, arguments.sampling, [](std::int32_t token) {
    print_out(std::string(1, static_cast<char>(token)));
  });
  print_out("\n");
}

}  // namespace

void add_generate(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  const auto arguments = std::make_shared<Arguments>();
  SamplingOptions& sampling = arguments->sampling;
  CLI::App* command = app.add_subcommand(
      "generate", "Continue a text with the model of a checkpoint (one process).");
  command->footer(
      "  triax generate runs/demo/checkpoints/step-000100.h5 --prompt \"The \" --temperature 0.8");
  command->add_option("FILE", arguments->checkpoint, "The checkpoint file")
      ->type_name("")
      ->required();
  command->add_option("--prompt", arguments->prompt, "The text to continue")
      ->type_name("TEXT")
      ->required();
  command->add_option("--max-tokens", sampling.max_tokens, "Tokens to add")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30))
      ->capture_default_str();
  command
      ->add_option("--temperature", sampling.temperature,
                   "Logits are divided by it: below 1 likely tokens become likelier; 0: always the "
                   "likeliest token")
      ->type_name("T")
      ->check(number(0.0, 1000.0))
      ->capture_default_str();
  command->add_option("--top-k", sampling.top_k, "Draw from the K likeliest tokens; 0: from all")
      ->type_name("K")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  command
      ->add_option("--seed", sampling.seed,
                   "Seed of the draws: the same seed gives the same text again")
      ->type_name("S")
      ->check(whole_number(0, 9e18))
      ->capture_default_str();
  command->add_option("--device", arguments->device, "cpu, gpu, or auto: the GPU if there is one")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}))
      ->capture_default_str();
  command->callback([arguments, &session] {
    if (session.rank() == 0) generate(*arguments);
  });
}

}  // namespace triax

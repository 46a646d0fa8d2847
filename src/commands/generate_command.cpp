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
#include "src/text/text_stream.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string checkpoint, prompt;
  std::string tokenizer = "bytes";
  SamplingOptions sampling;
  std::string device = "auto";
};

// Nothing: on a GPU if there is one.
std::optional<MemorySpace> space_of(const std::string& device) {
  if (device == "auto") return {};
  return device == "gpu" ? MemorySpace::device : MemorySpace::host;
}

std::shared_ptr<const Tokenizer> tokenizer_of(const std::string& name) {
  return name == "bytes" ? byte_tokenizer() : open_tokenizer(name);
}

std::vector<std::int32_t> tokens_of(const std::string& prompt, const Tokenizer& tokenizer) {
  std::vector<std::int32_t> tokens;
  tokenizer.encoder()->encode(prompt, {.add_special_tokens = true}, tokens);
  return tokens;
}

// The model may have fewer tokens than the tokenizer, or rows that are none of its tokens.
void check_tokens(const std::vector<std::int32_t>& tokens, const Tokenizer& tokenizer,
                  const ModelConfig& model) {
  for (const std::int32_t token : tokens)
    if (token >= model.vocabulary)
      throw UsageError(fmt::format("token {} of the prompt is not a token of the model", token),
                       fmt::format("its vocabulary has {} tokens", model.vocabulary),
                       "Set --tokenizer to the model's tokenizer");
  if (model.vocabulary > tokenizer.vocabulary())
    spdlog::warn("the model has {} tokens, the tokenizer {}; the others are never drawn",
                 model.vocabulary, tokenizer.vocabulary());
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
  const std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of(arguments.tokenizer);
  const std::vector<std::int32_t> tokens = tokens_of(arguments.prompt, *tokenizer);
  std::int64_t length = static_cast<std::int64_t>(tokens.size()) + arguments.sampling.max_tokens;
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
  check_tokens(tokens, *tokenizer, generator.model());
  SamplingOptions sampling = arguments.sampling;
  sampling.tokens = tokenizer->vocabulary();
  print_out(arguments.prompt);
  TextStream stream(tokenizer);
  for (const std::int32_t token : tokens) stream.next(token);
  generator.generate(tokens, sampling, [&](std::int32_t token) { print_out(stream.next(token)); });
  print_out(stream.rest());
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
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "The model's tokenizer: its directory or file, or bytes (one token per byte)")
      ->type_name("PATH")
      ->capture_default_str();
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

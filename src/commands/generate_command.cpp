// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate_command.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "kernels/parallel/runtime.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/inference/end_tokens.hpp"
#include "src/inference/generate.hpp"
#include "src/launch/threads.hpp"
#include "src/text/stop_text.hpp"
#include "src/text/text_stream.hpp"

namespace triax {
namespace {

struct Arguments {
  std::string checkpoint, prompt;
  std::string tokenizer;  // empty: the checkpoint's
  std::vector<std::string> stops;
  bool ignore_end = false, json = false;
  SamplingOptions sampling;
  std::string device = "auto";
};

// Nothing: on a GPU if there is one.
std::optional<MemorySpace> space_of(const std::string& device) {
  if (device == "auto") return {};
  return device == "gpu" ? MemorySpace::device : MemorySpace::host;
}

// The tokenizer that is asked for, else the checkpoint's, else bytes.
std::shared_ptr<const Tokenizer> tokenizer_of(const Arguments& arguments,
                                              const RunTokenizer& saved) {
  if (arguments.tokenizer.empty()) {
    if (!saved.files.tokenizer.empty()) return open_with_facts(saved.files).tokenizer;
    if (saved.hash.empty() || saved.format == "bytes") return byte_tokenizer();
    throw UsageError(
        arguments.checkpoint + " does not hold its tokenizer",
        fmt::format("its job names the one of SHA-256 {}, which was not stored", saved.hash),
        "Set --tokenizer to it");
  }
  auto tokenizer = open_named_tokenizer(arguments.tokenizer).tokenizer;
  if (!saved.hash.empty() && saved.hash != tokenizer->fingerprint())
    spdlog::warn(
        "{} is not the tokenizer of the checkpoint: its SHA-256 is {}, the checkpoint's {}",
        arguments.tokenizer, tokenizer->fingerprint(), saved.hash);
  return tokenizer;
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

// A text in the making: on standard output as it comes, or kept for JSON.
class Output {
 public:
  Output(const Arguments& arguments, std::shared_ptr<const Tokenizer> tokenizer,
         const std::vector<std::int32_t>& prompt, std::vector<std::int32_t> ends)
      : arguments_(arguments),
        stream_(std::move(tokenizer)),
        stop_(arguments.stops),
        ends_(std::move(ends)) {
    if (!arguments.json) print_out(arguments.prompt);
    for (const std::int32_t token : prompt) stream_.next(token);
  }

  /// Whether more tokens are wanted.
  bool add(std::int32_t token) {
    if (std::ranges::find(ends_, token) != ends_.end()) {
      reason_ = "end_token";
      return false;
    }
    tokens_.push_back(token);
    put(stop_.next(stream_.next(token)));
    return !stop_.stopped();
  }

  void finish() {
    put(stop_.next(stream_.rest()));
    put(stop_.rest());
    if (!arguments_.json) return print_out("\n");
    if (stop_.stopped()) reason_ = "stop_text";
    const nlohmann::ordered_json out = {{"prompt", arguments_.prompt},
                                        {"text", text_},
                                        {"tokens", tokens_},
                                        {"stopped_by", reason_}};
    print_out(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

 private:
  void put(const std::string& text) {
    if (arguments_.json)
      text_ += text;
    else
      print_out(text);
  }

  const Arguments& arguments_;
  TextStream stream_;
  StopText stop_;
  std::vector<std::int32_t> ends_, tokens_;
  std::string text_, reason_ = "max_tokens";
};

// Continues the prompt on standard output.
void generate(const Arguments& arguments) {
  if (arguments.prompt.empty())
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
  const KernelRuntime runtime(threads_of_planned_rank(1));
  const CheckpointReader reader(arguments.checkpoint);
  if (!reader.has_checksums())
    spdlog::warn("{} has no checksums: its data cannot be verified", arguments.checkpoint);
  const RunTokenizer saved = saved_tokenizer(reader);
  const std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of(arguments, saved);
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
  std::vector<std::int32_t> ends;
  if (!arguments.ignore_end)
    ends = end_tokens(reader.header().model, saved.files, *tokenizer, generator.model().vocabulary);
  SamplingOptions sampling = arguments.sampling;
  sampling.tokens = tokenizer->vocabulary();
  Output output(arguments, tokenizer, tokens, std::move(ends));
  generator.generate(tokens, sampling, [&](std::int32_t token) { return output.add(token); });
  output.finish();
}

}  // namespace

void add_generate(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  const auto arguments = std::make_shared<Arguments>();
  SamplingOptions& sampling = arguments->sampling;
  CLI::App* command = app.add_subcommand(
      "generate", "Continue a text with the model of a checkpoint (one process).");
  command->footer(
      "The checkpoint's own tokenizer encodes the prompt. The text ends at the model's end token.\n"
      "  triax generate runs/demo/checkpoints/step-000100.h5 --prompt \"The \" --temperature 0.8\n"
      "  triax generate FILE --prompt \"Q: why?\\nA:\" --stop Q: --json");
  command->add_option("FILE", arguments->checkpoint, "The checkpoint file")
      ->type_name("")
      ->required();
  command->add_option("--prompt", arguments->prompt, "The text to continue")
      ->type_name("TEXT")
      ->required();
  command
      ->add_option(
          "--tokenizer", arguments->tokenizer,
          "Another tokenizer than the checkpoint's: a directory or file, gpt2:DIR, or bytes "
          "(the default where the checkpoint has none)")
      ->type_name("PATH");
  command->add_flag("--ignore-eos", arguments->ignore_end,
                    "Go on behind the model's end token (eos_token_id, the tokenizer's)");
  command
      ->add_option("--stop", arguments->stops, "Stop before this text; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check([](const std::string& text) { return text.empty() ? "an empty text" : ""; });
  command->add_flag("--json", arguments->json,
                    "Print one JSON object: prompt, text, tokens, stopped_by (end_token, stop_text "
                    "or max_tokens)");
  command->add_option("--max-tokens", sampling.max_tokens, "Tokens to add, at most")
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

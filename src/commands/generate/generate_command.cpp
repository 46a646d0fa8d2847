// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate/generate_command.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "src/comm/launch/launcher.hpp"
#include "src/commands/generate/generate_run.hpp"
#include "src/commands/options/command_grid.hpp"
#include "src/commands/options/grid_overrides.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/options/shared_options.hpp"
#include "src/commands/options/weights_option.hpp"
#include "src/inference/engine/option_keys.hpp"
#include "src/launch/threads.hpp"

namespace triax {
namespace {

void check_prompts(const GenerateArguments& arguments) {
  const bool none = arguments.prompts.empty() && arguments.prompts_file.empty();
  for (const std::string& prompt : arguments.prompts)
    if (prompt.empty())
      throw UsageError("the prompt is empty", "a model continues text",
                       "Give --prompt at least one character");
  if (none) throw UsageError("there is no prompt", {}, "Give --prompt TEXT or --prompts FILE");
}

void generate(const GenerateArguments& arguments, const MpiSession& session) {
  check_launch(MPI_COMM_WORLD);
  check_prompts(arguments);
  (void)threads_asked();  // an invalid OMP_NUM_THREADS is refused first
  const CommandKeys keys("triax generate", {engine_section}, arguments.overrides);
  const EngineOptions options = engine_options(keys);
  with_grid(grid_of_overrides(keys.grid(), session.size()), long_wait, space_of(arguments.device),
            [&](ProcessGrid& grid) { generate_on(grid, arguments, options); });
}

constexpr double most = 1 << 30;

void add_inputs(CLI::App* command, GenerateArguments& arguments) {
  add_model(command, arguments.model);
  command
      ->add_option("--prompt", arguments.prompts,
                   "A text to continue; may be given several times: they are computed together")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command->add_option("--prompts", arguments.prompts_file, "A file with one prompt per line")
      ->type_name("FILE");
  command
      ->add_option("--tokenizer", arguments.tokenizer,
                   "Another tokenizer than the model's: a directory or file, gpt2:DIR, or bytes "
                   "(the default of a checkpoint without one)")
      ->type_name("PATH");
  add_weights(command, arguments.weights);
}

void add_length(CLI::App* command, GenerateArguments& arguments) {
  command->add_option("--max-tokens", arguments.max_tokens, "Tokens to add, at most")
      ->type_name("N")
      ->check(whole_number(1, most))
      ->capture_default_str();
  command
      ->add_option("--min-tokens", arguments.min_tokens,
                   "Tokens before the model's end token may come")
      ->type_name("N")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command->add_flag("--ignore-eos", arguments.ignore_end,
                    "Go on behind the model's end token (eos_token_id, the tokenizer's)");
  command
      ->add_option("--stop", arguments.stops, "Stop before this text; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check([](const std::string& text) { return text.empty() ? "an empty text" : ""; });
}

void add_choice(CLI::App* command, TokenChoice& choice) {
  command
      ->add_option("--temperature", choice.temperature,
                   "Logits are divided by it: below 1 likely tokens become likelier; 0: always the "
                   "likeliest token")
      ->type_name("T")
      ->check(number(0.0, 1000.0))
      ->capture_default_str();
  command->add_option("--top-k", choice.top_k, "Draw from the K likeliest tokens; 0: from all")
      ->type_name("K")
      ->check(whole_number(0, most))
      ->capture_default_str();
  command
      ->add_option("--top-p", choice.top_p,
                   "Draw from the fewest tokens, likeliest first, of this probability together")
      ->type_name("P")
      ->check(number(1e-6, 1.0))
      ->capture_default_str();
  command
      ->add_option("--min-p", choice.min_p,
                   "Draw from tokens of at least this share of the likeliest one's probability")
      ->type_name("P")
      ->check(number(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--repetition-penalty", choice.repetition_penalty,
                   "Logits of tokens that the text has already are divided by it where positive, "
                   "else multiplied; 1: none")
      ->type_name("R")
      ->check(number(0.01, 100.0))
      ->capture_default_str();
  command
      ->add_option("--seed", choice.seed,
                   "Seed of the draws: the same seed gives the same text again; prompt i draws "
                   "with S + i")
      ->type_name("S")
      ->check(whole_number(0, 9e18))
      ->capture_default_str();
}

void add_running(CLI::App* command, GenerateArguments& arguments) {
  command->add_flag("--json", arguments.json,
                    "Print JSON: prompt, text, tokens, stopped_by (end_token, stop_text or "
                    "max_tokens); a list of these for several prompts");
  add_overrides(command, arguments.overrides,
                "A key of the grid (parallel.tensor, pipeline or data) or of the section "
                "inference; may be given many times");
  add_speculate(command, arguments.overrides);
  add_device(command, arguments.device);
}

}  // namespace

void add_generate(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  const auto arguments = std::make_shared<GenerateArguments>();
  CLI::App* command =
      app.add_subcommand("generate", "Continue texts with a model; on any grid of ranks.");
  command->footer(
      "The model's own tokenizer encodes the prompts. A text ends at the model's end token.\n"
      "  triax generate runs/demo/checkpoints/step-000100.h5 --prompt \"The \" --temperature 0.8\n"
      "  triax generate FILE --prompt \"Q: why?\\nA:\" --stop Q: --json\n"
      "  mpiexec -n 4 triax generate DIR --prompts FILE --top-p 0.9 --set parallel.tensor=2\n"
      "Several prompts share each step; a text is the same whatever runs beside it.");
  add_inputs(command, *arguments);
  add_length(command, *arguments);
  add_choice(command, arguments->choice);
  add_running(command, *arguments);
  command->callback([arguments, &session] { generate(*arguments, session); });
}

}  // namespace triax

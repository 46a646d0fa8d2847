// SPDX-License-Identifier: Apache-2.0
#include "src/commands/evaluate/evaluate_command.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/commands/evaluate/evaluate_output.hpp"
#include "src/commands/options/command_grid.hpp"
#include "src/commands/options/grid_overrides.hpp"
#include "src/commands/options/option_checks.hpp"
#include "src/commands/options/shared_options.hpp"
#include "src/commands/options/weights_option.hpp"
#include "src/commands/process/standard_output.hpp"
#include "src/config/load/command_keys.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/evaluate/evaluation.hpp"
#include "src/inference/held_weights.hpp"
#include "src/inference/model_files.hpp"
#include "src/inference/model_tokenizer.hpp"
#include "src/launch/threads.hpp"

namespace triax {
namespace {

constexpr std::int64_t usual_length = 4096;  // longest sequence that is not asked for
constexpr const char* held_key = "inference.weights";

struct Arguments {
  std::string model, tokenizer, device = "auto", invalid = "error", weights = "trained";
  std::vector<std::string> data, tasks, overrides;
  std::int64_t length = 0, stride = 0;  // 0: not given
  std::int64_t rows = 4096;
  TaskOptions options;
  std::string scores;
  bool json = false;
};

// The one place that finds the tokenizer of a model. Without one, `why` says why.
std::optional<EvaluationTokenizer> tokenizer_of(const ModelFiles& files, const std::string& given,
                                                std::string& why) {
  constexpr int bytes = 256;
  if (!given.empty()) return evaluation_tokenizer(model_tokenizer(files.path(), given));
  try {
    const ModelTokenizer own = model_tokenizer(files.path());
    if (!own.assumed || files.model().vocabulary == bytes) return evaluation_tokenizer(own);
    why = files.path() + " does not hold its tokenizer";
  } catch (const UsageError& error) {  // token files need none
    why = error.what();
  }
  return {};
}

WindowShape windows_of(const Arguments& arguments, const ModelFiles& files) {
  const std::int64_t most = longest_sequence(files.model());
  WindowShape windows;
  windows.length =
      arguments.length > 0 ? arguments.length : std::min(files.trained_length(), usual_length);
  if (windows.length > most)
    throw UsageError(fmt::format("--seq-length {} is too long", windows.length),
                     fmt::format("the model has {} positions", most), "Lower it");
  windows.stride = arguments.stride > 0 ? arguments.stride : windows.length;
  if (windows.stride > windows.length)
    throw UsageError(fmt::format("--stride {} is larger than the sequence length {}",
                                 windows.stride, windows.length),
                     "tokens between the windows would not be scored", "Lower it");
  return windows;
}

TaskOptions options_of(const Arguments& arguments, const ModelFiles& files) {
  TaskOptions options = arguments.options;
  options.windows = windows_of(arguments, files);
  options.documents.invalid = arguments.invalid == "replace" ? InvalidText::replace
                              : arguments.invalid == "skip"  ? InvalidText::skip
                                                             : InvalidText::error;
  options.tokenizer = tokenizer_of(files, arguments.tokenizer, options.no_tokenizer);
  return options;
}

std::vector<OpenedTask> tasks_of(const Arguments& arguments, const TaskOptions& options) {
  std::vector<OpenedTask> tasks;
  for (const std::string& name : arguments.data)
    for (OpenedTask& task : open_data(name, options)) tasks.push_back(std::move(task));
  for (const std::string& path : arguments.tasks) tasks.push_back(open_task(path, options));
  return tasks;
}

// All that scores depend on, but for the grid.
nlohmann::ordered_json header_of(const ModelFiles& files, const TaskOptions& options,
                                 const std::string& invalid, const std::vector<OpenedTask>& tasks) {
  nlohmann::ordered_json header = {{"evaluation", 1},
                                   {"model", files.path()},
                                   {"weights", files.fingerprint()},
                                   {"sequence_length", options.windows.length},
                                   {"stride", options.windows.stride}};
  if (options.tokenizer) header["tokenizer"] = options.tokenizer->tokenizer->fingerprint();
  header["fields"] = options.documents.keys;
  header["invalid"] = invalid;
  header["delimiter"] = options.delimiter;
  header["max_tokens"] = options.generation.max_tokens;
  header["strip"] = options.generation.strip;
  header["ignore_case"] = options.generation.ignore_case;
  header["limit"] = options.limit;
  for (const OpenedTask& one : tasks)
    header["tasks"].push_back(
        {{"name", one.task->name()}, {"kind", one.task->kind()}, {"input", one.fingerprint}});
  return header;
}

// Prints the results. Collective.
void evaluate_on(ProcessGrid& grid, const Arguments& arguments, const std::string& held_as) {
  const auto begun = std::chrono::steady_clock::now();
  const Ranks ranks(grid);
  const ModelFiles files(arguments.model, ranks);
  for (const std::string& warning : files.warnings()) spdlog::warn("{}", warning);
  TaskOptions options;
  std::vector<OpenedTask> tasks;
  EvaluationOptions evaluation;
  const SavedWeights weights = saved_weights(arguments.weights);
  HeldWeights held;
  evaluation.scores = arguments.scores;
  evaluation.progress = true;
  agreed(ranks, [&] {
    options = options_of(arguments, files);
    tasks = tasks_of(arguments, options);
    evaluation.header = header_of(files, options, arguments.invalid, tasks);
    if (weights == SavedWeights::average) evaluation.header["weights_of"] = arguments.weights;
    held = held_weights(held_as, files, weights, grid.space(), false);
    if (!held.note.empty()) evaluation.header["weights_held"] = held_as;
  });
  if (const std::string effect = rope_effect_of_length(files.model(), options.windows.length);
      !effect.empty())
    spdlog::info("rotary positions: {}", effect);
  if (!held.note.empty()) spdlog::info("{}", held.note);
  GridModel model(
      files.model(), grid, options.windows.length,
      [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
        files.load(stream, config, store, ranks, weights);
      },
      held);
  Answers answers(model, arguments.rows,
                  options.tokenizer ? options.tokenizer->tokenizer->vocabulary() : 0);
  const nlohmann::ordered_json results = evaluate(answers, tasks, evaluation, ranks);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  agreed(ranks, [&] {
    if (ranks.rank != 0) return;
    if (!arguments.json) return print_out(evaluation_text(results));
    const nlohmann::ordered_json all = {{"model", files.path()},
                                        {"sequence_length", options.windows.length},
                                        {"stride", options.windows.stride},
                                        {"grid", grid.shape().text()},
                                        {"seconds", seconds.count()},
                                        {"results", results}};
    print_out(all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  });
}

void evaluate(const Arguments& arguments, const MpiSession& session) {
  check_launch(MPI_COMM_WORLD);
  if (arguments.data.empty() && arguments.tasks.empty())
    throw UsageError("there is nothing to evaluate", {},
                     "Give --data FILE for a perplexity, or --task FILE");
  (void)threads_asked();  // an invalid OMP_NUM_THREADS is refused first
  const CommandKeys keys("triax evaluate", {held_key}, arguments.overrides);
  with_grid(grid_of_overrides(keys.grid(), session.size()), long_wait, space_of(arguments.device),
            [&](ProcessGrid& grid) { evaluate_on(grid, arguments, keys.text(held_key)); });
}

void add_inputs(CLI::App* command, Arguments& arguments) {
  add_model(command, arguments.model);
  command
      ->add_option("--data", arguments.data,
                   "Perplexity of a token file (HDF5, Megatron, llm.c), or of texts: .txt, .jsonl, "
                   "also .gz and .zst, directories and patterns; each document alone")
      ->type_name("FILE");
  command
      ->add_option("--task", arguments.tasks,
                   "An evaluation file of llm.c (HellaSwag), JSON lines of context, choices and "
                   "answer, or of prompt, answer and stop")
      ->type_name("FILE");
  command
      ->add_option("--tokenizer", arguments.tokenizer,
                   "The model's tokenizer: its directory or file, or bytes (default: that of the "
                   "model's files)")
      ->type_name("PATH");
  add_weights(command, arguments.weights);
  command
      ->add_option("--field", arguments.options.documents.keys,
                   "Keys of the text in JSON lines of --data (default: text)")
      ->type_name("KEY");
  command
      ->add_option("--invalid", arguments.invalid,
                   "Text of --data that is not UTF-8: error, replace (by U+FFFD) or skip (its "
                   "document)")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"error", "replace", "skip"}))
      ->capture_default_str();
}

void add_scoring(CLI::App* command, Arguments& arguments) {
  constexpr double most = 1 << 30;
  TaskOptions& options = arguments.options;
  command
      ->add_option("--seq-length", arguments.length,
                   "Longest sequence in tokens (default: what the model was trained on, at most "
                   "4096)")
      ->type_name("T")
      ->check(whole_number(1, most));
  command
      ->add_option("--stride", arguments.stride,
                   "Tokens that a window scores, each with at least T - N tokens before it "
                   "(default: T)")
      ->type_name("N")
      ->check(whole_number(1, most));
  command
      ->add_option("--delimiter", options.delimiter,
                   "Text between context and choice (default: a space)")
      ->type_name("TEXT");
  command
      ->add_option("--max-tokens", options.generation.max_tokens,
                   "Tokens to generate where a document names no max_tokens")
      ->type_name("N")
      ->check(whole_number(1, most))
      ->capture_default_str();
  command->add_flag("--strip", options.generation.strip,
                    "Exact match without the white space at both ends");
  command->add_flag("--ignore-case", options.generation.ignore_case,
                    "Exact match without regard to case");
  command
      ->add_option("--limit", options.limit,
                   "Documents of each task, windows of a token file (default: all)")
      ->type_name("N")
      ->check(whole_number(1, 9e18));
}

void add_running(CLI::App* command, Arguments& arguments) {
  command
      ->add_option(
          "--scores", arguments.scores,
          "Write the score of every document as JSON lines; the same command goes on where "
          "it was killed")
      ->type_name("FILE");
  command->add_flag("--json", arguments.json, "Print JSON");
  command
      ->add_option("--batch-tokens", arguments.rows,
                   "Most tokens per forward pass, of several sequences")
      ->type_name("N")
      ->check(whole_number(1, 1 << 24))
      ->capture_default_str();
  add_overrides(
      command, arguments.overrides,
      "A key of the grid (parallel.tensor, pipeline or data) or inference.weights; may be "
      "given many times");
  add_device(command, arguments.device);
}

}  // namespace

void add_evaluate(CLI::App& app, CommandContext& context) {
  const MpiSession& session = context.session;
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Score a model: perplexity, multiple choice, generation; on any grid.");
  command->footer(
      "  triax evaluate DIR --data held.txt --task hellaswag_val.bin\n"
      "  mpiexec -n 4 triax evaluate step-000100.h5 --tokenizer DIR --data held.jsonl.zst \\\n"
      "    --set parallel.tensor=2 --scores scores.jsonl --json\n"
      "Metrics are those of lm-evaluation-harness. A text is scored as its rolling "
      "log-likelihood,\n"
      "a token file in windows over all its tokens. Choices are encoded with their context; \n"
      "acc_norm divides by characters (of llm.c's files by tokens), acc_bytes by bytes.");
  add_inputs(command, *arguments);
  add_scoring(command, *arguments);
  add_running(command, *arguments);
  command->callback([arguments, &session] { evaluate(*arguments, session); });
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/commands/generate/generate_run.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "kernels/base/mpi/agree.hpp"
#include "src/commands/generate/generated_text.hpp"
#include "src/commands/generate/model_text.hpp"
#include "src/commands/options/weights_option.hpp"
#include "src/config/rope_kinds.hpp"
#include "src/inference/generate.hpp"
#include "src/inference/grid/grid_engine.hpp"
#include "src/inference/grid/message_line.hpp"
#include "src/inference/grid/request_message.hpp"
#include "src/inference/held_weights.hpp"
#include "src/inference/sampling/choose_token.hpp"

namespace triax {
namespace {

// Work of all prompts: on rank 0, and what of it the other ranks need.
struct Work {
  std::vector<GenerationRequest> requests;
  std::vector<GeneratedText> texts;  // on rank 0
  std::int64_t context = 0;          // of the model
  bool together = false;             // by the paged engine
};

std::vector<std::string> prompts_of(const GenerateArguments& arguments) {
  std::vector<std::string> prompts = arguments.prompts;
  if (!arguments.prompts_file.empty()) {
    std::ifstream file(arguments.prompts_file);
    if (!file) throw UsageError("cannot open " + arguments.prompts_file, {}, "Correct --prompts");
    for (std::string line; std::getline(file, line);)
      if (!line.empty()) prompts.push_back(line);
  }
  if (prompts.empty() || std::ranges::any_of(prompts, &std::string::empty))
    throw UsageError("the prompt is empty", "a model continues text",
                     "Give --prompt at least one character");
  return prompts;
}

// On rank 0: reads the tokenizer and encodes the prompts.
Work work_of(const GenerateArguments& arguments, const ModelFiles& files, bool on_host) {
  const ModelText text = model_text(files, arguments.tokenizer);
  Work work;
  std::int64_t longest = 0;
  for (const std::string& prompt : prompts_of(arguments)) {
    GenerationRequest request{.id = work.requests.size() + 1};
    request.prompt = prompt_tokens(prompt, *text.tokenizer, files.model());
    request.choice = arguments.choice;
    request.choice.seed += work.requests.size();  // equal prompts get different texts
    request.choice.tokens = text.tokenizer->vocabulary();
    request.max_tokens = arguments.max_tokens;
    request.min_tokens = arguments.min_tokens;
    if (!arguments.ignore_end) request.end_tokens = text.ends;
    longest = std::max(longest, std::ssize(request.prompt) + request.max_tokens);
    work.texts.emplace_back(prompt, request.prompt, text.tokenizer, arguments.stops,
                            request.end_tokens);
    work.requests.push_back(std::move(request));
  }
  // Longer distances and positions were never trained.
  const std::int64_t trained = files.trained_length();
  if (trained < longest)
    spdlog::info("the model was trained on sequences of {0} tokens: it sees only the last {0}",
                 trained);
  work.context = std::min(trained, longest);
  work.together = on_host && trained >= longest;
  return work;
}

// The requests of rank 0 on all ranks.
void share(ProcessGrid& grid, Work& work) {
  MessageLine line(grid.world(), grid.wait_policy(), 0);
  if (grid.rank() == 0) {
    nlohmann::json all = {{"context", work.context}, {"together", work.together}};
    for (const GenerationRequest& request : work.requests)
      all["requests"].push_back(json_of(request));
    return line.send(packed(all));
  }
  const nlohmann::json all = unpacked(line.receive());
  work.context = all["context"];
  work.together = all["together"];
  for (const nlohmann::json& request : all["requests"])
    work.requests.push_back(request_of(request));
}

[[noreturn]] void refuse_logits(std::int64_t index) {
  throw Error(fmt::format("logits of token {} are not finite", index),
              "the weights of the checkpoint are not finite, or too large",
              "Use an earlier checkpoint");
}

// All requests at once, on rank 0.
void run(Engine& engine, Work& work, TextPrinter& printer) {
  for (const GenerationRequest& request : work.requests) engine.submit(request);
  std::size_t open = work.requests.size();
  printer.update();
  while (open > 0) {
    for (const GenerationOutput& output : engine.step()) {
      GeneratedText& text = work.texts[static_cast<std::size_t>(output.id - 1)];
      if (output.finished == FinishReason::error) throw Error(output.error);
      bool more = !output.finished;
      for (auto at = output.tokens.begin(); at != output.tokens.end() && !text.finished(); ++at)
        more = text.add(at->token) && more;
      if (more) continue;
      if (!output.finished) engine.cancel(output.id);
      text.finish();
      --open;
    }
    printer.update();
  }
}

// One request on all ranks, which get the same logits and so the same tokens. `add`: whether it
// goes on after a token.
template <class Add>
void continue_text(Generator& generator, const GenerationRequest& request, const Add& add) {
  std::vector<std::int32_t> prompt = request.prompt, answer;
  if (std::ssize(prompt) > generator.context())
    prompt.erase(prompt.begin(), prompt.end() - generator.context());
  for (std::int64_t i = 0; i < request.max_tokens; ++i) {
    const std::vector<float>& logits =
        i == 0 ? generator.logits(prompt) : generator.logits_after(answer.back());
    if (!all_finite(logits)) refuse_logits(i);
    answer.push_back(next_token(logits, request.choice, prompt, answer, request.banned_at(i)));
    if (!add(answer.back())) return;
  }
}

// One request after another. Rank 0 says after each token whether the text goes on.
void run_one_by_one(GridModel& model, Work& work, TextPrinter& printer) {
  Generator generator(model);
  const Ranks ranks(model.grid());
  for (std::size_t i = 0; i < work.requests.size(); ++i) {
    continue_text(generator, work.requests[i], [&](std::int32_t token) {
      std::array<std::int64_t, 1> more{};
      if (ranks.rank == 0) {
        more[0] = work.texts[i].add(token) ? 1 : 0;
        printer.update();
      }
      broadcast_numbers(ranks, more, 0);
      return more[0] != 0;
    });
    if (ranks.rank != 0) continue;
    work.texts[i].finish();
    printer.update();
  }
}

}  // namespace

void generate_on(ProcessGrid& grid, const GenerateArguments& arguments,
                 const EngineOptions& options) {
  const Ranks ranks(grid);
  const ModelFiles files(arguments.model, ranks);
  for (const std::string& warning : files.warnings()) spdlog::warn("{}", warning);
  Work work;
  agreed(ranks, [&] {
    if (grid.rank() == 0) work = work_of(arguments, files, grid.space() == MemorySpace::host);
  });
  share(grid, work);
  if (const std::string effect = rope_effect_of_length(files.model(), work.context);
      !effect.empty())
    spdlog::info("rotary positions: {}", effect);
  const SavedWeights weights = saved_weights(arguments.weights);
  HeldWeights held;
  agreed(ranks, [&] {
    held = held_weights(options.weights, files, weights, grid.space(), work.together);
  });
  if (!held.note.empty()) spdlog::info("{}", held.note);
  GridModel model(
      files.model(), grid, work.context,
      [&](const Stream& stream, const ModelConfig& config, ParameterStore& store) {
        files.load(stream, config, store, ranks, weights);
      },
      held);
  TextPrinter printer(work.texts, arguments.json);
  EngineOptions of = options;  // no cache for more texts than there are
  of.sequences = std::min(of.sequences, std::ssize(work.requests));
  if (work.together)
    with_engine(model, of, [&](Engine& engine) { run(engine, work, printer); });
  else
    run_one_by_one(model, work, printer);
}

}  // namespace triax

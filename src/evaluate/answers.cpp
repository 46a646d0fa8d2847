// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/answers.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/mpi/agree.hpp"
#include "src/inference/engine/sequential_engine.hpp"
#include "src/inference/grid/grid_engine.hpp"

namespace triax {
namespace {

// A sum over the ranks in which one rank has a number and the others 0.
constexpr std::uint64_t not_finite = ~std::uint64_t{0};

void refuse_weights(const std::string& where) {
  throw Error(fmt::format("{}: the model's logits are not finite", where),
              "its weights are not finite, or too large", "Use an earlier checkpoint");
}

// Adds what a step made to the answers. Returns how many prompts it has ended.
std::size_t take_step(Engine& engine, std::span<const Item> items,
                      std::map<std::size_t, std::vector<std::int32_t>>& found) {
  std::size_t ended = 0;
  for (const GenerationOutput& output : engine.step()) {
    const auto number = static_cast<std::size_t>(output.id);
    std::vector<std::int32_t>& answer = found[number];
    bool more = !output.finished;
    for (auto token = output.tokens.begin(); token != output.tokens.end(); ++token) {
      answer.push_back(token->token);
      if (!items[number].prompt->ends(answer)) continue;
      more = false;
      break;
    }
    if (more) continue;
    if (output.finished == FinishReason::error) answer.clear();
    if (!output.finished) engine.cancel(output.id);
    ++ended;
  }
  return ended;
}

}  // namespace

Answers::Answers(GridModel& model, std::int64_t rows, std::int32_t tokens)
    : model_(model), rows_(rows), tokens_(tokens), likelihoods_(model, rows) {}

std::int64_t Answers::round() const {
  return unit * model_.grid().shape().data;
}

std::vector<Answer> Answers::all(std::span<const Item> items) {
  check_items(items);
  std::vector<Answer> answers(items.size());
  score(items, answers);
  if (std::ranges::any_of(items, [](const Item& item) { return item.prompt.has_value(); }))
    generate(items, answers);
  return answers;
}

void Answers::check_items(std::span<const Item> items) const {
  const std::int32_t vocabulary = model_.model().vocabulary;
  const auto check = [&](const Item& item, std::span<const std::int32_t> tokens,
                         std::int32_t least) {
    for (const std::int32_t token : tokens)
      if (token < least || token >= vocabulary)
        throw UsageError(fmt::format("{}: {} is not a token of the model", item.where, token),
                         fmt::format("its vocabulary has {} tokens", vocabulary),
                         "Use the tokenizer that the model was trained with");
  };
  for (const Item& item : items) {
    for (const LabelledTokens& request : item.requests) {
      check(item, request.inputs, 0);
      check(item, request.labels, -1);
    }
    if (!item.prompt) continue;
    check(item, item.prompt->tokens, 0);
    if (std::ssize(item.prompt->tokens) + item.prompt->max_tokens > model_.context())
      throw UsageError(
          fmt::format("{}: the prompt is too long", item.where),
          fmt::format("{} tokens and {} new ones are more than {}", item.prompt->tokens.size(),
                      item.prompt->max_tokens, model_.context()),
          "Raise --seq-length, or lower --max-tokens");
  }
}

// The unit of this data rank.
std::span<const Item> Answers::own(std::span<const Item> items) const {
  const auto begin = static_cast<std::size_t>(unit * model_.grid().data_rank());
  if (begin >= items.size()) return {};
  return items.subspan(begin, std::min(items.size() - begin, static_cast<std::size_t>(unit)));
}

void Answers::score(std::span<const Item> items, std::vector<Answer>& answers) {
  std::vector<LabelledSequence> sequences;
  const std::span<const Item> mine = own(items);
  for (const Item& item : mine)
    for (const LabelledTokens& request : item.requests)
      sequences.push_back({request.inputs, request.labels});
  const std::vector<double> found = likelihoods_.of(sequences);
  std::size_t at = 0, all = 0;
  for (const Item& item : items) {
    if (!mine.empty() && &item == &mine.front()) at = all;
    all += item.requests.size();
  }
  std::vector<double> sums(all);
  std::ranges::copy(found, sums.begin() + static_cast<std::ptrdiff_t>(at));
  sum_over_ranks(model_.grid(), sums);  // one rank has a number, the others 0
  auto next = sums.begin();
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::size_t r = 0; r < items[i].requests.size(); ++r) {
      if (!std::isfinite(*next)) refuse_weights(items[i].where);
      answers[i].loglikelihoods.push_back(*next++);
    }
}

void Answers::generate(std::span<const Item> items, std::vector<Answer>& answers) {
  const Continuations found = model_.grid().space() == MemorySpace::host
                                  ? continue_together(items)
                                  : continue_one_by_one(items);
  std::size_t width = 0;  // numbers of an item: how many tokens, and the tokens
  for (const Item& item : items)
    if (item.prompt) width = std::max(width, static_cast<std::size_t>(item.prompt->max_tokens) + 1);
  std::vector<std::uint64_t> numbers(items.size() * width);
  for (const auto& [number, tokens] : found) {
    const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(number * width);
    *at = tokens.empty() ? not_finite : tokens.size();
    std::ranges::copy(tokens, at + 1);
  }
  sum_over_ranks(model_.grid(), numbers);  // one rank has a number, the others 0
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].prompt) continue;
    const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
    if (*at == not_finite) refuse_weights(items[i].where);
    answers[i].tokens.assign(at + 1, at + 1 + static_cast<std::ptrdiff_t>(*at));
  }
}

// The likeliest continuations of the prompts among items [begin, end).
Answers::Continuations Answers::continue_on(Engine& engine, std::span<const Item> items,
                                            std::size_t begin, std::size_t end) const {
  std::size_t open = 0;
  for (std::size_t number = begin; number < end; ++number) {
    if (!items[number].prompt) continue;
    engine.submit({.id = number,
                   .prompt = items[number].prompt->tokens,
                   .choice = {.temperature = 0.0, .tokens = tokens_},
                   .max_tokens = items[number].prompt->max_tokens});
    ++open;
  }
  Continuations found;
  while (open > 0) open -= take_step(engine, items, found);
  return found;
}

// All prompts at once over a paged KV cache, which prompts of equal beginnings share. The answers
// lie on rank 0; the bits of each are the same in any company.
Answers::Continuations Answers::continue_together(std::span<const Item> items) {
  Continuations found;
  const EngineOptions options{.tokens_per_step = rows_, .sequences = unit};
  with_engine(model_, options,
              [&](Engine& engine) { found = continue_on(engine, items, 0, items.size()); });
  return found;
}

// On GPUs, which have no paged KV cache: all ranks of a model get the same logits, and so the same
// tokens. The answers of a data rank lie on the first rank of its model.
Answers::Continuations Answers::continue_one_by_one(std::span<const Item> items) {
  if (!generator_) generator_ = std::make_unique<Generator>(model_);
  SequentialEngine engine(*generator_);
  const std::span<const Item> mine = own(items);
  if (mine.empty()) return {};
  const auto begin = static_cast<std::size_t>(mine.data() - items.data());
  const Continuations found = continue_on(engine, items, begin, begin + mine.size());
  const bool first = model_.grid().pipeline_rank() == 0 && model_.grid().tensor_rank() == 0;
  return first ? found : Continuations();
}

}  // namespace triax

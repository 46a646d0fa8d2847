// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/answers.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/mpi/agree.hpp"

namespace triax {
namespace {

// A sum over the ranks in which one rank has a number and the others 0.
constexpr std::uint64_t not_finite = ~std::uint64_t{0};

void refuse_weights(const std::string& where) {
  throw Error(fmt::format("{}: the model's logits are not finite", where),
              "its weights are not finite, or too large", "Use an earlier checkpoint");
}

bool all_finite(const std::vector<float>& logits) {
  return std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
}

}  // namespace

Answers::Answers(GridModel& model, std::int64_t rows, std::int32_t tokens)
    : model_(model), tokens_(tokens), likelihoods_(model, rows) {}

std::int64_t Answers::round() const {
  return unit * model_.grid().shape().data;
}

std::vector<Answer> Answers::all(std::span<const Item> items) {
  check_tokens(items);
  std::vector<Answer> answers(items.size());
  score(items, answers);
  if (std::ranges::any_of(items, [](const Item& item) { return item.prompt.has_value(); }))
    generate(items, answers);
  return answers;
}

void Answers::check_tokens(std::span<const Item> items) const {
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
    if (item.prompt) check(item, item.prompt->tokens, 0);
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
  if (!generator_) generator_ = std::make_unique<Generator>(model_);
  std::size_t width = 0;  // numbers of an item: how many tokens, and the tokens
  for (const Item& item : items)
    if (item.prompt) width = std::max(width, static_cast<std::size_t>(item.prompt->max_tokens) + 1);
  std::vector<std::uint64_t> numbers(items.size() * width);
  const ProcessGrid& grid = model_.grid();
  for (const Item& item : own(items)) {
    if (!item.prompt) continue;
    const std::vector<std::int32_t> tokens = continuation(*item.prompt);
    if (grid.pipeline_rank() != 0 || grid.tensor_rank() != 0) continue;
    auto at = numbers.begin() + (&item - items.data()) * static_cast<std::ptrdiff_t>(width);
    *at = tokens.empty() ? not_finite : tokens.size();
    std::ranges::copy(tokens, at + 1);
  }
  sum_over_ranks(grid, numbers);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].prompt) continue;
    const auto at = numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
    if (*at == not_finite) refuse_weights(items[i].where);
    answers[i].tokens.assign(at + 1, at + 1 + static_cast<std::ptrdiff_t>(*at));
  }
}

// Empty where a logit is not finite.
std::vector<std::int32_t> Answers::continuation(const Prompt& prompt) {
  std::vector<std::int32_t> tokens;
  while (std::ssize(tokens) < prompt.max_tokens && (tokens.empty() || !prompt.ends(tokens))) {
    const std::vector<float>& logits = tokens.empty() ? generator_->logits(prompt.tokens)
                                                      : generator_->logits_after(tokens.back());
    if (!all_finite(logits)) return {};
    tokens.push_back(choose_token(logits, {.temperature = 0.0, .tokens = tokens_}, 0.0));
  }
  return tokens;
}

}  // namespace triax

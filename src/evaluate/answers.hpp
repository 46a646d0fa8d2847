// SPDX-License-Identifier: Apache-2.0
#pragma once
// Answers of a model on a grid to the items of a task.
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/evaluate/task/task.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/inference/generate.hpp"
#include "src/inference/likelihoods.hpp"

namespace triax {

class Answers {
 public:
  /// `rows`: most tokens per forward pass. `tokens`: tokens that a continuation may have, the first
  /// of the vocabulary; 0: all. `model` outlives the object.
  Answers(GridModel& model, std::int64_t rows, std::int32_t tokens);

  /// Items that a data rank answers together. They are the same for every number of data ranks, and
  /// with them every bit of the answers.
  static constexpr std::int64_t unit = 32;
  /// Items that all() takes at most: a unit for each data rank.
  std::int64_t round() const;

  /// Answers to the items, which are the same on every rank, on every rank. UsageError for a token
  /// that the model has not and for a prompt that leaves no place for its answer, Error for weights
  /// that are not finite; on all ranks alike. Collective over the grid.
  std::vector<Answer> all(std::span<const Item> items);

 private:
  void check_items(std::span<const Item> items) const;
  std::span<const Item> own(std::span<const Item> items) const;
  void score(std::span<const Item> items, std::vector<Answer>& answers);
  void generate(std::span<const Item> items, std::vector<Answer>& answers);
  // Tokens of the item of each number; not_finite: its logits are not.
  using Continuations = std::map<std::size_t, std::vector<std::int32_t>>;
  Continuations continue_on(Engine& engine, std::span<const Item> items, std::size_t begin,
                            std::size_t end) const;
  Continuations continue_together(std::span<const Item> items);
  Continuations continue_one_by_one(std::span<const Item> items);

  GridModel& model_;
  std::int64_t rows_;
  std::int32_t tokens_;
  Likelihoods likelihoods_;
  std::unique_ptr<Generator> generator_;  // on GPUs; made for the first prompt
};

}  // namespace triax

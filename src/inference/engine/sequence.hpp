// SPDX-License-Identifier: Apache-2.0
#pragma once
// A request in the engine: its text, and what of it the KV cache holds.
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/inference/constraint/constraint.hpp"
#include "src/inference/engine/block_pool.hpp"
#include "src/inference/engine/engine.hpp"

namespace triax {

struct Sequence {
  GenerationRequest request;
  std::vector<std::int32_t> tokens;  // prompt and answer
  std::int64_t computed = 0;         // tokens whose keys and values are in the cache
  std::vector<std::int32_t> blocks;  // of the cache, in the order of the text
  std::int64_t named = 0;            // blocks whose content the pool knows
  PrefixId content = 0;              // of the named blocks
  bool in_step = false;              // of a step that is planned and not computed
  bool finished = false;             // has all its tokens
  bool cancelled = false;            // closed while it was in a step
  std::vector<TokenLikelihood> prompt_likelihoods;
  std::unique_ptr<Constraint> constraint;  // null: any answer will do
  std::vector<double> hidden_sum;          // (E) of the rows that an embedding is made of
  std::int64_t pooled = 0;                 // these rows; with Pooling::last: 1 at most

  explicit Sequence(GenerationRequest of, std::unique_ptr<Constraint> form = {})
      : request(std::move(of)), tokens(request.prompt), constraint(std::move(form)) {}
  std::int64_t length() const { return std::ssize(tokens); }
  std::int64_t missing() const { return length() - computed; }
  std::int64_t prompt_length() const { return std::ssize(request.prompt); }
  std::int64_t answer_length() const { return length() - prompt_length(); }
  std::span<const std::int32_t> answer() const {
    return std::span(tokens).subspan(request.prompt.size());
  }
  /// Whether the hidden state of a position is still to be added.
  bool pools(std::int64_t position) const {
    if (request.pooling == Pooling::last) return position + 1 == length() && pooled == 0;
    return request.pooling == Pooling::mean && position >= pooled;
  }
  /// Whether all rows must be computed: no cached prefix can stand for them.
  bool needs_all_rows() const {
    return scores_prompt() || (request.pooling == Pooling::mean && pooled < length());
  }
  /// Whether likelihoods of the prompt are still to be computed: then its rows need their logits.
  bool scores_prompt() const {
    return request.prompt_log_probabilities && std::ssize(prompt_likelihoods) < prompt_length() - 1;
  }
};

}  // namespace triax

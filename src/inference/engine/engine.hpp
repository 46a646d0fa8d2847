// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface between those who ask for text (HTTP server, batch jobs, generate) and those who
// compute it. Requests in, tokens out; one step computes one batch of all running sequences.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/inference/constraint/constraint_spec.hpp"
#include "src/inference/sampling/likelihood.hpp"
#include "src/inference/sampling/token_choice.hpp"

namespace triax {

/// Which of a prompt's hidden states, behind the final norm, an embedding is made of.
enum class Pooling : std::uint8_t { none, mean, last };

struct GenerationRequest {
  std::uint64_t id = 0;                   // unique among open requests
  std::vector<std::int32_t> prompt = {};  // at least one token
  TokenChoice choice = {};
  std::int64_t max_tokens = 16, min_tokens = 0;
  std::vector<std::int32_t> end_tokens = {};  // end the answer, and are its last token
  int log_probabilities = -1;                 // alternatives per token; -1: none
  bool prompt_log_probabilities = false;      // also of the prompt's tokens (`echo`)
  ConstraintSpec constraint = {};             // the form of the answer
  Pooling pooling = Pooling::none;            // an embedding instead of an answer: max_tokens 0

  /// Tokens that may not be token `index` of the answer (from 0): those that end it too early.
  std::span<const std::int32_t> banned_at(std::int64_t index) const {
    if (index < min_tokens) return end_tokens;
    return {};
  }
};

enum class FinishReason { stop, length, cancelled, error };

/// The tokens that a step added to the answer of a request.
struct GenerationOutput {
  std::uint64_t id = 0;
  std::vector<TokenLikelihood> prompt =
      {};  // from its second token on; once, with the first output
  std::vector<TokenLikelihood> tokens = {};
  std::vector<float> embedding = {};          // (E); with `finished`
  std::optional<FinishReason> finished = {};  // the request is closed
  std::string error = {};                     // with FinishReason::error
};

struct EngineState {
  std::int64_t waiting = 0, running = 0;
  std::int64_t steps = 0, prompt_tokens = 0, answer_tokens = 0, preemptions = 0,
               prefix_hit_tokens = 0;
  std::int64_t cache_blocks = 0, free_cache_blocks = 0;  // 0: no paged cache
  std::int64_t accepted_tokens = 0;                      // answer tokens that speculation guessed
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// Longest prompt plus answer in tokens.
  virtual std::int64_t context() const = 0;
  virtual std::int64_t vocabulary() const = 0;
  /// Opens a request. Throws UsageError if it can never be served (empty or too long prompt, ...).
  virtual void submit(GenerationRequest request) = 0;
  /// Closes an open request at once, without an output; unknown ids are ignored.
  virtual void cancel(std::uint64_t id) = 0;
  /// Computes one step of the open requests; nothing to do: returns an empty list at once.
  virtual std::vector<GenerationOutput> step() = 0;
  virtual EngineState state() const = 0;
};

}  // namespace triax

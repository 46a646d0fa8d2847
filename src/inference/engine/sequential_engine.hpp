// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine that computes one request at a time, in the order in which they came.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "src/inference/constraint/constraint.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/inference/generate.hpp"

namespace triax {

class SequentialEngine : public Engine {
 public:
  /// `generator` outlives the engine and is used by nobody else. One process, or all ranks of a
  /// model, which make the same calls and get the same tokens. `token_bytes`: see TokenConstraints.
  explicit SequentialEngine(Generator& generator, TokenBytes token_bytes = {})
      : generator_(generator), constraints_(std::move(token_bytes)) {}

  std::int64_t context() const override { return generator_.context(); }
  std::int64_t vocabulary() const override { return generator_.model().vocabulary; }
  void submit(GenerationRequest request) override;
  void cancel(std::uint64_t id) override;
  /// One token of the first request, of its prompt or of its answer. A prompt whose
  /// log-probabilities are not asked for is computed together with the first token of the answer.
  std::vector<GenerationOutput> step() override;
  EngineState state() const override;

 private:
  GenerationOutput score_prompt();
  GenerationOutput failed(GenerationOutput output, std::string failure);
  GenerationOutput next_token();
  void finish(GenerationOutput& output, FinishReason reason);

  Generator& generator_;
  TokenConstraints constraints_;
  std::deque<GenerationRequest> open_;
  std::map<std::uint64_t, std::unique_ptr<Constraint>> forms_;  // of open requests that have one
  std::vector<TokenLikelihood> scored_;                         // of the first request's prompt
  std::vector<std::int32_t> answer_;                            // of the first request
  const std::vector<float>* logits_ = nullptr;  // after all tokens of the first request
  EngineState state_;
};

}  // namespace triax

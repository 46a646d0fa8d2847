// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine with a paged KV cache, continuous batching and a prefix cache.
#include <deque>
#include <functional>
#include <unordered_map>

#include "src/inference/engine/engine.hpp"
#include "src/inference/engine/paged_model.hpp"
#include "src/inference/engine/scheduler.hpp"

namespace triax {

/// The tokens and logits of a request have the same bits whatever runs beside it, however its
/// prompt is cut, cached or computed again.
class PagedEngine : public Engine {
 public:
  /// Tells the other ranks of the replica that they start this step now.
  using Announce = std::function<void(const StepBatch&)>;
  /// On the rank of tensor rank 0 and the first stage of a replica. `model` has room for steps of
  /// options.tokens_per_step rows and outlives the engine. `announce`: empty: there are no others.
  /// `token_bytes`: see TokenConstraints.
  PagedEngine(PagedModel& model, const EngineOptions& options, Announce announce = {},
              TokenBytes token_bytes = {});

  std::int64_t context() const override { return model_.model().context(); }
  std::int64_t vocabulary() const override { return model_.model().model().vocabulary; }
  void submit(GenerationRequest request) override;
  void cancel(std::uint64_t id) override;
  std::vector<GenerationOutput> step() override;
  EngineState state() const override;
  /// Closes all requests, and ends the steps that other ranks compute.
  void drain();

 private:
  // A row whose logits the step computes.
  struct LogitRow {
    Sequence* sequence;
    std::int64_t position;
    std::int32_t token;  // at the position
  };
  // A step on its way through the stages. There is one per stage, of different requests, so that
  // all stages have work.
  struct Flight {
    std::vector<ScheduledChunk> chunks;
    StepBatch batch;
    std::vector<LogitRow> logit_rows;
    std::vector<Sequence*> hidden_rows;  // whose each is
  };
  bool start_flight();
  static void fill(Flight& flight);
  void close(Sequence& sequence);
  GenerationOutput& output_of(const Sequence& sequence);
  void take_logits(const LogitRow& row, std::span<float> logits);
  static void take_hidden(Sequence& sequence, std::span<const float> hidden);
  void take_next(Sequence& sequence, std::span<float> logits);
  void fail(Sequence& sequence, std::string failure);

  PagedModel& model_;
  Announce announce_;
  BlockPool pool_;
  Scheduler scheduler_;
  TokenConstraints constraints_;
  std::unordered_map<std::uint64_t, Sequence*> open_;
  std::deque<Flight> flights_;             // the oldest first
  std::vector<GenerationOutput> outputs_;  // of the flight that ends, in the order of its chunks
  std::int64_t steps_ = 0, prompt_tokens_ = 0, answer_tokens_ = 0, accepted_tokens_ = 0;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model on a grid with a paged KV cache: computes the rows of many sequences together.
#include <functional>
#include <span>
#include <vector>

#include "src/inference/engine/engine_options.hpp"
#include "src/inference/engine/step_batch.hpp"
#include "src/inference/grid_model.hpp"
#include "src/model/packed/packed_rows.hpp"

namespace triax {

class PagedModel {
 public:
  /// `blocks` of the cache; the largest step has `rows` rows. `model` lies on the host and outlives
  /// the object.
  PagedModel(GridModel& model, const EngineOptions& options, std::int64_t blocks,
             std::int64_t rows);

  /// Gets the logits (V) of batch.logit_rows[index], in order.
  using OnLogits = std::function<void(std::size_t index, std::span<float> logits)>;
  /// Adds the rows' keys and values to the cache, each row with the same bits in any company. All
  /// ranks of a replica give the same batch. On the first of several stages the next batches may
  /// start before finish() of this one, up to a batch per stage; elsewhere finish() follows.
  void start(const StepBatch& batch);
  /// Gets the hidden states (E) of batch.hidden_rows[index], in order.
  using OnHidden = std::function<void(std::size_t index, std::span<const float> hidden)>;
  /// Computes the logits and hidden states of the batch that was started first. The functions are
  /// called on the rank of tensor rank 0 and the first stage.
  void finish(const StepBatch& batch, const OnLogits& on_logits, const OnHidden& on_hidden);

  GridModel& model() const { return model_; }
  std::int64_t blocks() const { return blocks_; }
  /// Bytes of one block in all layers of this rank.
  static std::int64_t block_bytes(const GridModel& model, const EngineOptions& options);
  /// Bytes of activations and scratch for steps of `rows` rows.
  static std::size_t workspace_bytes(const GridModel& model, std::int64_t rows);

 private:
  // Logits of up to this many rows are in memory at once.
  static constexpr std::size_t rows_of_logits = 32;
  BatchShape shape(std::int64_t rows) const { return shape(model_, rows); }
  static BatchShape shape(const GridModel& model, std::int64_t rows);
  void run_layers(WithPackedRows<Context>& ctx, ForwardSpace& space);
  // Sends the output of the stage, on the first without waiting for the next.
  void pass_on(const Tensor& x);
  // Leaves the logits of the rows in `all`: (tensor ranks, n, V of a rank), on the ranks that hand
  // them out. rows: (n, E) on the last stage.
  void gather_logits(const Context& ctx, const Tensor& rows, const Tensor& all);
  void finish_hidden(const Context& ctx, std::span<const std::int32_t> numbers,
                     const OnHidden& on_hidden);
  Tensor take_rows(Arena& scratch, std::span<const std::int32_t> numbers) const;
  WithPackedRows<Context> context(const StepBatch& batch, Arena& scratch) const;
  Tensor layer_cache(int block) const;

  GridModel& model_;
  EngineOptions options_;
  std::int64_t blocks_, most_rows_;
  Buffer memory_;  // activations, frame and scratch
  Buffer cache_;   // paged_cache_shape() of each transformer block of the stage
  Tensor output_;  // (rows, E) of the last layer before the head, in memory_
  // Outputs of the first stage on their way to the second, one per stage: sent round robin.
  struct Outgoing {
    Buffer rows;
    Request sent = {};
  };
  std::vector<Outgoing> outgoing_;
  std::size_t next_outgoing_ = 0;
  std::vector<float> row_;  // (V)
};

}  // namespace triax

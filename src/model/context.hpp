// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of a layer besides its parameters, and the shape of a micro-batch on this rank.
#include <cstdint>

#include "kernels/base/device/arena.hpp"
#include "kernels/loss/pair_loss.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/interface/planned_messages.hpp"
#include "src/model/parameter.hpp"

namespace triax {

/// A micro-batch of B sequences of T tokens as rows. Under sequence parallelism each tensor rank
/// keeps an equal range of the rows between layers; rows are padded to a multiple of the tensor
/// size (padding: token -1, zero gradient).
struct BatchShape {
  std::int64_t batch = 1;                 // B
  std::int64_t sequence = 1;              // T
  std::int64_t rows = 1;                  // B T, padded: rows of a full activation
  std::int64_t local_rows = 1;            // rows of a residual-stream activation on this rank
  std::int64_t first_row = 0;             // index of this rank's first row in the micro-batch
  DType type = DType::f32;                // of activations and parameters
  DType gradient_type = DType::f32;       // of parameter gradients
  MemorySpace space = MemorySpace::host;  // memory of all tensors, scratch included
  bool fp8 = false;                       // Linear multiplies in 8 bits (kernels/matmul/fp8.hpp)
  bool documents = false;                 // Context::positions has the positions of the tokens
  std::int64_t past = 0;  // tokens before these; Context::cache holds their keys and values
  bool pairs = false;     // sequences are pairs of a preference loss
  std::int64_t tokens() const { return batch * sequence; }
};
BatchShape batch_shape(std::int64_t batch, std::int64_t sequence, const TensorShard& shard,
                       DType type = DType::f32, DType gradient_type = DType::f32,
                       MemorySpace space = MemorySpace::host);

/// A micro-batch of pairs: sequence 2 i is preferred to sequence 2 i + 1.
struct PairBatch {
  PairLossOptions options;
  Tensor reference;  // (B) float64: log-probabilities under the reference model; empty: none
  Tensor log_probs;  // (B) float64, for those of this model; empty: not wanted
  Tensor sums;       // (pair_sums) float64; the head adds
};

/// State of one layer call on one micro-batch.
struct Context {
  const Stream& stream;
  Communicator& tensor;  // the tensor axis
  const TensorShard& shard;
  BatchShape shape;
  Arena& scratch;
  Tensor tokens;  // (rows) int32, inputs; -1: padding
  Tensor labels;  // (rows) int32; negative: ignored
  /// (rows) int32: position of each token in its document, -1 for padding. Tokens see their own
  /// document only. Empty: each sequence is one document.
  Tensor positions = {};
  bool training = true;           // compute gradients
  float loss_scale = 1.0F;        // factor on the loss before its gradient
  float z_coefficient = 0.0F;     // of the z-loss, which is part of the loss
  Tensor loss_sum;                // (1) float64; the head adds the sum of its rows' losses
  std::uint64_t dropout_key = 0;  // key of this step
  std::int64_t first_sample = 0;  // global index of the first sample, for dropout masks
  /// (positions, 2 Hkv D): keys and values of a layer's tokens, one sequence, for generation. The
  /// forward pass adds this call's tokens after BatchShape::past, where their positions start.
  /// Empty: no cache.
  Tensor cache = {};
  /// Takes the operands of weight gradients that Layer::weight_gradients computes later; null: the
  /// backward pass computes them.
  Arena* operands = nullptr;
  float embedding_noise = 0.0F;  // largest noise on an element of a token's embedding, in training
  const PairBatch* pairs = nullptr;  // of BatchShape::pairs: the loss is that of its pairs
};

/// Position of a dropout mask in the model.
enum class DropoutPlace : std::uint8_t {
  embedding,
  attention,
  attention_output,
  mlp_output,
  embedding_noise
};
/// Key of a mask, from the step, the block (embedding: 0) and the position.
std::uint64_t dropout_key(const Context& ctx, int layer, DropoutPlace place);
/// Global index of the first element of a (tokens, width) activation on this rank.
inline std::int64_t first_element(const Context& ctx, std::int64_t width) {
  return (ctx.first_sample * ctx.shape.sequence + ctx.shape.first_row) * width;
}

/// Rows that a message may still be filling: work that does not need them goes on meanwhile.
struct ComingRows {
  Tensor rows;
  Request message = {};
  /// Orders ctx.stream after the message: from here on it may read the rows and overwrite their
  /// source.
  const Tensor& wait(const Context& ctx) {
    message.wait(ctx.stream);
    return rows;
  }
};

/// All rows from the rows that this rank keeps between layers: an all-gather into `full` under
/// sequence parallelism, else `local` itself. The backward pass uses it for gradients of a
/// row-parallel output.
ComingRows gather_rows(const Context& ctx, const Tensor& local, const Tensor& full);

/// Rows that this rank keeps, from partial sums over all rows: a reduce-scatter into `local` under
/// sequence parallelism, else an all-reduce of `partial` in place, which is returned.
ComingRows reduce_rows(const Context& ctx, const Tensor& partial, const Tensor& local);

/// Messages of gather_rows and reduce_rows for rows of `width` elements.
Messages gather_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width);
Messages reduce_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width);

}  // namespace triax

#pragma once
// What a layer needs beside its parameters, and the shape of a micro-batch on this rank.
#include <cstdint>

#include "kernels/base/device/arena.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/interface/planned_messages.hpp"
#include "src/model/parameter.hpp"

namespace triax {

/// A micro-batch of B sequences of T tokens as rows. Under sequence parallelism each tensor rank
/// keeps an equal run of the rows between the layers; rows are padded to a multiple of the tensor
/// size (token -1, zero gradient).
struct BatchShape {
  std::int64_t batch = 1;                 // B
  std::int64_t sequence = 1;              // T
  std::int64_t rows = 1;                  // B T, padded: rows of a full activation
  std::int64_t local_rows = 1;            // rows of a residual-stream activation on this rank
  std::int64_t first_row = 0;             // of those, in the micro-batch
  DType type = DType::f32;                // of activations and parameters
  DType gradient_type = DType::f32;       // of the parameters' gradients
  MemorySpace space = MemorySpace::host;  // of all of them
  bool fp8 = false;                       // Linear multiplies in 8 bits (kernels/matmul/fp8.hpp)
  std::int64_t past = 0;  // tokens before these, whose keys and values are in Context::cache
  std::int64_t tokens() const { return batch * sequence; }
};
BatchShape batch_shape(std::int64_t batch, std::int64_t sequence, const TensorShard& shard,
                       DType type = DType::f32, DType gradient_type = DType::f32,
                       MemorySpace space = MemorySpace::host);

/// Lives for one micro-batch of one layer call.
struct Context {
  const Stream& stream;
  Communicator& tensor;  // the tensor axis
  const TensorShard& shard;
  BatchShape shape;
  Arena& scratch;
  Tensor tokens;                  // (rows) int32, inputs; -1: padding
  Tensor labels;                  // (rows) int32; -1: ignored
  bool training = true;           // gradients are wanted
  float loss_scale = 1.0F;        // of the loss whose gradient is made: 1 / label tokens
  Tensor loss_sum;                // (1) float64: the head adds the sum of its rows' losses
  std::uint64_t dropout_key = 0;  // of this step
  std::int64_t first_sample =
      0;  // of the micro-batch, within the global batch: dropout masks follow it
  /// (positions, 2 Hkv D): keys and values of a layer's tokens, one sequence. The forward pass adds
  /// those of this call behind those of BatchShape::past. Empty: they are not kept.
  Tensor cache = {};
};

/// Where in a block a dropout mask falls.
enum class DropoutPlace : std::uint8_t { embedding, attention, attention_output, mlp_output };
/// The key of a mask: of the step, the block (embedding: 0) and the place.
std::uint64_t dropout_key(const Context& ctx, int layer, DropoutPlace place);
/// The global index of the first element that this rank keeps of a (tokens, width) activation.
inline std::int64_t first_element(const Context& ctx, std::int64_t width) {
  return (ctx.first_sample * ctx.shape.sequence + ctx.shape.first_row) * width;
}

/// Rows that a message brings, if any: what else needs no message goes on meanwhile.
struct ComingRows {
  Tensor rows;
  Request message = {};
  /// From here on ctx.stream may use them, and write to what they come from.
  const Tensor& wait(const Context& ctx) {
    message.wait(ctx.stream);
    return rows;
  }
};

/// From the rows a rank keeps between layers to all rows: all-gather under sequence parallelism
/// (into `full`), else `local` itself. In the backward pass it does the same to gradients of a
/// row-parallel output.
ComingRows gather_rows(const Context& ctx, const Tensor& local, const Tensor& full);

/// From partial sums over all rows to the rows this rank keeps: reduce-scatter under sequence
/// parallelism (into `local`), else an all-reduce of `partial` in place, which is returned.
ComingRows reduce_rows(const Context& ctx, const Tensor& partial, const Tensor& local);

/// What gather_rows and reduce_rows send for rows of `width` elements.
Messages gather_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width);
Messages reduce_rows_messages(const TensorShard& shard, const BatchShape& shape,
                              std::int64_t width);

}  // namespace triax

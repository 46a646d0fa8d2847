// SPDX-License-Identifier: Apache-2.0
#pragma once
// A unit of the plan: embedding, transformer block or head.
#include <cstddef>
#include <vector>

#include "src/model/context.hpp"

namespace triax {

/// Messages of one layer call over the tensor axis.
struct LayerMessages {
  Messages forward, backward;
};

/// Forward and backward of one layer on one micro-batch. Boundaries (x, y and their gradients) are
/// (local_rows, E) of shape.type. A frame is the layer's saved activations, one contiguous buffer
/// of frame_bytes: dropping it is recompute, moving it is offload. The caller keeps the input x. A
/// layer does not know where it runs: Context::stream and the tensors decide.
class Layer {
 public:
  virtual ~Layer() = default;

  /// Parameters in the order of LayerParameters.
  virtual const std::vector<ParameterSpec>& params() const = 0;
  virtual std::size_t frame_bytes(const BatchShape& shape) const = 0;
  /// Most that forward or backward takes from ctx.scratch.
  virtual std::size_t scratch_bytes(const BatchShape& shape) const = 0;
  /// Exactly the messages that forward and backward of this tensor rank send.
  virtual LayerMessages messages(const BatchShape& shape) const = 0;
  /// Whether the frame is dropped after the forward pass and filled again for the backward pass.
  virtual bool recomputed() const { return false; }

  /// y = f(x), filling `frame` (u8). x is empty for the embedding, y for the head.
  virtual void forward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                       const Tensor& y, const Tensor& frame) const = 0;
  /// dx from dy. Parameter gradients are written or accumulated, as each Gradient says; those of
  /// frozen parameters are empty, and not computed. dy is empty
  /// for the head, dx for the embedding.
  virtual void backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                        const Tensor& dy, const Tensor& dx, const Tensor& frame) const = 0;

  /// Bytes that backward takes from Context::operands; 0: it leaves nothing for weight_gradients.
  virtual std::size_t operand_bytes(const BatchShape& /*shape*/) const { return 0; }
  /// Gradients of linear maps, from the operands (u8) that backward left (zero bubble, Qi et al.
  /// 2023): the same bits as backward's own.
  virtual void weight_gradients(const Context& /*ctx*/, const LayerParameters& /*params*/,
                                const Tensor& /*operands*/) const {}
};

/// Bytes that `carve(arena)` takes: the code that carves memory is the code that measures it.
template <class Carve>
std::size_t measure(Carve&& carve) {
  Arena arena;
  carve(arena);
  return arena.high_water();
}

}  // namespace triax

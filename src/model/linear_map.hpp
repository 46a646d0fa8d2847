// SPDX-License-Identifier: Apache-2.0
#pragma once
// A linear map of a block, however its weight is kept: plain (Linear) or in a few bits
// (quantized/). Chosen when a layer is built.
#include <memory>
#include <vector>

#include "kernels/matmul/matmul.hpp"
#include "src/model/context.hpp"

namespace triax {

class LinearMap {
 public:
  virtual ~LinearMap() = default;
  /// Weight, then bias if there is one.
  virtual const std::vector<ParameterSpec>& params() const = 0;
  virtual std::int64_t inputs() const = 0;   // on this rank
  virtual std::int64_t outputs() const = 0;  // on this rank
  /// Most that one call takes from the scratch arena.
  virtual std::size_t scratch_bytes(const BatchShape& shape) const = 0;
  bool has_bias() const { return params().size() == 2; }

  /// y (rows, outputs) = x (rows, inputs) W, plus the bias of a column-parallel map. With `hidden`
  /// (y's shape): hidden = that sum, y = gelu(hidden).
  virtual void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
                       const Tensor& hidden) const = 0;
  /// dx (rows, inputs) = dy W^T, then through the GELU that made x if `gelu` is set.
  virtual void backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                              const Tensor& dx, const GeluGradient& gelu) const = 0;
  /// dW += x^T dy; db += column sums of dy for a column-parallel map. Frozen ones are left out.
  /// With Context::operands, x and dy are kept there instead, for another call without.
  virtual void backward_weight(const Context& ctx, const Gradient* gradients, const Tensor& x,
                               const Tensor& dy) const = 0;

  /// A sum of some outputs' weights with a product of low rank: W + factor B A.
  struct LowRankSum {
    Tensor a, b;  // (r, inputs), (n, r)
    float factor = 1.0F;
    std::int64_t first = 0;  // of the n outputs
  };
  /// squares (n) float64 += squares of the sum, over the inputs of this rank. On the host.
  virtual void add_squares(const Context& ctx, const Tensor* weights, const LowRankSum& sum,
                           const Tensor& squares) const = 0;
  /// Most that add_squares takes from the scratch arena.
  virtual std::size_t squares_scratch_bytes() const = 0;

  /// The factors of a weight gradient.
  struct Operands {
    Tensor x;   // (rows, inputs)
    Tensor dy;  // (rows, outputs)
  };
  Operands take_operands(Arena& arena, const BatchShape& shape) const;
};

}  // namespace triax

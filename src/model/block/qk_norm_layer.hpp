// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normalisation of queries and keys before their rotation (kernels/norm/qk_norm.hpp): of each head,
// or of all heads of a token together, whose sums the tensor ranks then add.
#include <array>
#include <vector>

#include "src/model/block/projections.hpp"
#include "src/model/layer.hpp"

namespace triax {

class QkNormLayer {
 public:
  QkNormLayer(const ModelConfig& model, int layer, const TensorShard& shard);

  /// Whether the model has this norm. Without, nothing else may be called but params() and
  /// messages().
  explicit operator bool() const { return kind_ != QkNorm::none; }
  /// Weights of queries, then of keys; none without this norm.
  const std::vector<ParameterSpec>& params() const { return params_; }

  /// Queries and keys of this rank's heads: (B, T, H, D) and (B, T, Hkv, D), strided over (B, T).
  struct Heads {
    Tensor q, k;
  };
  /// Sums of squares that the backward pass needs, carved from a frame.
  Tensor carve(Arena& arena, const BatchShape& shape) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;
  /// The same messages in each direction.
  Messages messages(const BatchShape& shape) const;

  /// Fills `sums` from x.
  void sum(const Context& ctx, const Heads& x, const Tensor& sums) const;
  /// y = norm(x).
  void normalise(const Context& ctx, const Tensor* weights, const Heads& x, const Tensor& sums,
                 const Heads& y) const;
  /// Gradients of the weights and, in place of those of y in `d`, of x.
  void backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                const Heads& x, const Tensor& sums, const Heads& d) const;

 private:
  struct Side;  // queries or keys
  std::array<Side, 2> sides(const BatchShape& shape, const Heads& x, const Tensor& sums) const;
  void add_over_ranks(const Context& ctx, const Tensor& sums) const;
  std::int64_t groups(std::int64_t heads) const { return kind_ == QkNorm::head ? heads : 1; }

  QkNorm kind_;
  HeadShard heads_;
  std::int64_t head_size_;
  std::int64_t query_width_, key_width_;  // elements that a sum counts, over all tensor ranks
  float epsilon_, offset_;
  int tensor_size_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

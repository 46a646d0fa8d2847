// SPDX-License-Identifier: Apache-2.0
#pragma once
// Final norm, output projection with the vocabulary sharded over the tensor axis, and the loss.
#include <vector>

#include "kernels/loss/cross_entropy.hpp"
#include "src/config/config.hpp"
#include "src/model/embedding_layer.hpp"
#include "src/model/layer.hpp"
#include "src/model/norm_layer.hpp"

namespace triax {

/// Computes the logits of a few rows at a time, replaces them by their gradient and uses that up,
/// so that the (rows, V) matrix never exists. The forward pass therefore computes the projection's
/// gradients too: the loss scale is known beforehand. A loss of pairs needs the log-probabilities
/// of whole sequences before any gradient: logits that do not fit at once are computed twice.
class HeadLayer : public Layer {
 public:
  HeadLayer(const ModelConfig& model, const TensorShard& shard);

  const std::vector<ParameterSpec>& params() const override { return params_; }
  std::size_t frame_bytes(const BatchShape& shape) const override;
  std::size_t scratch_bytes(const BatchShape& shape) const override;
  LayerMessages messages(const BatchShape& shape) const override;
  /// Adds the sum of the rows' losses to ctx.loss_sum, the same on every tensor rank.
  void forward(const Context& ctx, const LayerParameters& params, const Tensor& x, const Tensor& y,
               const Tensor& frame) const override;
  void backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                const Tensor& dy, const Tensor& dx, const Tensor& frame) const override;

  /// Logits (V) of row `row` of x, without tensor parallelism: for generation.
  void logits(const Context& ctx, const LayerParameters& params, const Tensor& x, std::int64_t row,
              const Tensor& out) const;
  /// The final norm alone, on (rows, E) without sequence parallelism: hidden states for embeddings.
  void hidden(const Context& ctx, const LayerParameters& params, const Tensor& x,
              const Tensor& out) const {
    norm_.forward(ctx, params.weights.data(), x, out);
  }

 private:
  struct Scratch;
  std::int64_t chunk_rows(const BatchShape& shape) const;
  void classify(const Context& ctx, const LayerParameters& params, const Tensor& h,
                const Tensor& dh, const Scratch& scratch) const;
  void classify_pairs(const Context& ctx, const LayerParameters& params, const Tensor& h,
                      const Tensor& dh, const Scratch& scratch) const;
  void compare_pairs(const Context& ctx, const Scratch& scratch) const;
  void loss_of_shards(const Context& ctx, const Tensor& loss, const Tensor& lse,
                      const Tensor& logits, const Tensor& labels, const Scratch& scratch) const;
  void use_gradient(const LayerParameters& params, const Context& ctx, const Tensor& rows,
                    const Tensor& logits, const Tensor& dh, bool first) const;

  LogitOptions logit_options(const Context& ctx) const {
    return {.soft_cap = soft_cap_, .z_coefficient = ctx.z_coefficient};
  }

  std::int64_t width_;
  float soft_cap_;
  float scale_;  // of the logits: the output projection reads scaled rows
  TensorShard shard_;
  VocabularyShard vocabulary_;
  NormLayer norm_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Multi-head (or grouped-query) causal self-attention: the heads of this tensor rank.
#include <vector>

#include "kernels/attention/attention.hpp"
#include "src/config/config.hpp"
#include "src/model/block/projections.hpp"
#include "src/model/block/qk_norm_layer.hpp"
#include "src/model/layer.hpp"

namespace triax {

class AttentionLayer {
 public:
  /// `rope`: (2, T, R/2) cosines and sines of the first R dimensions of a head, empty without
  /// rotary positions; must outlive the layer.
  /// `recompute`: the backward pass recomputes Core, bit for bit.
  AttentionLayer(const ModelConfig& model, int layer, const TensorShard& shard, const Tensor& rope,
                 bool recompute);

  const std::vector<ParameterSpec>& params() const { return params_; }
  /// Index of the output projection's first parameter in params().
  std::size_t output_at() const { return qkv_.params().size(); }
  const LinearMap& qkv() const { return qkv_.base(); }
  const LinearMap& output() const { return output_.base(); }

  /// Results of core attention on q, k and v.
  struct Core {
    Tensor out;  // (rows, H D)
    Tensor lse;  // (B, H, T)
  };
  /// Activations that the backward pass needs, carved from a frame.
  struct Frame {
    Tensor qkv;      // (rows, (H + 2 Hkv) D): after the rotation, or before the norm of q and k
    Tensor squares;  // of the norm of q and k; empty without
    Core core;       // empty if it is recomputed
    Tensor qkv_norms, output_norms;  // AdaptedLinear::carve_norms
  };
  Frame carve(Arena& arena, const BatchShape& shape) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;
  /// Messages of the forward pass alone.
  Messages norm_messages(const TensorShard& shard) const {
    return qkv_.norm_messages(shard) + output_.norm_messages(shard);
  }
  /// Messages of each direction.
  Messages messages(const BatchShape& shape) const { return qk_norm_.messages(shape); }

  /// partial (rows, E) = the share of this rank's heads in the output. h: (rows, E), normed.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& h, const Tensor& partial,
               const Frame& frame) const;
  /// Gradient of h from dpartial (rows, E), summed over the tensor ranks. dh (rows, E) holds it
  /// before the sum, `local` after (see AdaptedLinear::backward_between_messages).
  ComingRows backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                      ComingRows h, ComingRows dpartial, const Tensor& dh, const Tensor& local,
                      const Frame& frame) const;

 private:
  struct Views;  // q, k and v, a head at a time
  Views views(const BatchShape& shape, const Tensor& qkv) const;
  // The heads from column `first` x D of a matrix with rows of heads.
  Tensor heads_at(const BatchShape& shape, const Tensor& rows, std::int64_t first,
                  std::int64_t heads) const;
  // q, k and v as attention reads them. `again`: the frame is complete.
  Views ready(const Context& ctx, const Tensor* weights, const Frame& frame, bool again) const;
  Tensor take_normed(Arena& arena, const BatchShape& shape) const;
  std::size_t qk_norm_at() const { return output_at() + output_.params().size(); }
  struct Scratch;
  Core carve_core(Arena& arena, const BatchShape& shape) const;
  // The frame's Core, or one carved from scratch if it is recomputed.
  Core core(const Context& ctx, const Frame& frame) const;
  void attend(const Context& ctx, const Views& x, const Core& core) const;
  void rotate(const Context& ctx, const Views& x) const;
  // Copies keys and values of these tokens to the cache.
  void keep(const Context& ctx, const Views& x) const;
  // Attention over the cache.
  void attend_to_cache(const Context& ctx, const Tensor& out, const Tensor& q) const;
  // Elements of one token in the cache.
  std::int64_t cache_width() const { return 2 * heads_.kv_heads * head_size_; }
  AttentionOptions options(const Context& ctx) const;
  std::int64_t width() const { return qkv_.outputs(); }

  HeadShard heads_;
  int total_heads_;
  std::int64_t head_size_;
  float dropout_;
  float scale_, soft_cap_;
  int window_;
  int layer_;
  bool recompute_;
  Tensor rope_;
  AdaptedLinear qkv_, output_;
  QkNormLayer qk_norm_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

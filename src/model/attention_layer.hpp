#pragma once
// Multi-head (or grouped-query) causal self-attention: the heads of this tensor rank.
#include <vector>

#include "kernels/attention/attention.hpp"
#include "src/config/config.hpp"
#include "src/model/architecture.hpp"
#include "src/model/layer.hpp"

namespace triax {

class AttentionLayer {
 public:
  /// `rope`: (2, T, D/2) cosines and sines, empty where positions are learned; outlives the layer.
  /// `recompute`: the backward pass makes Core again, to the last bit.
  AttentionLayer(const ModelConfig& model, int layer, const TensorShard& shard, const Tensor& rope,
                 bool recompute);

  const std::vector<ParameterSpec>& params() const { return params_; }
  /// Parameters before the output projection's in the list.
  std::size_t output_at() const { return qkv_.params().size(); }
  const Linear& output() const { return output_; }

  /// What core attention makes of q, k and v.
  struct Core {
    Tensor out;  // (rows, H D)
    Tensor lse;  // (B, H, T)
  };
  /// What the backward pass needs, carved from a frame.
  struct Frame {
    Tensor qkv;  // (rows, (H + 2 Hkv) D), after the rotation
    Core core;   // empty where it is made again
  };
  Frame carve(Arena& arena, const BatchShape& shape) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;

  /// partial (rows, E) = this rank's heads' share of the output. h: (rows, E), normed.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& h, const Tensor& partial,
               const Frame& frame) const;
  /// The gradient of h, summed over the tensor ranks (Linear::backward_between_messages: by way of
  /// dh (rows, E), into `local`), from dpartial (rows, E).
  ComingRows backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                      ComingRows h, ComingRows dpartial, const Tensor& dh, const Tensor& local,
                      const Frame& frame) const;

 private:
  struct Views;  // q, k, v of a fused matrix
  Views views(const BatchShape& shape, const Tensor& qkv) const;
  struct Scratch;
  Core carve_core(Arena& arena, const BatchShape& shape) const;
  // The frame's, or room for it in the scratch.
  Core core(const Context& ctx, const Frame& frame) const;
  void attend(const Context& ctx, const Views& x, const Core& core) const;
  void rotate(const Context& ctx, const Views& x) const;
  // Keys and values of these tokens, into the cache.
  void keep(const Context& ctx, const Tensor& qkv) const;
  // Attention over the cache.
  void attend_to_cache(const Context& ctx, const Tensor& out, const Tensor& q) const;
  float scale() const;
  // Elements of a token in the cache.
  std::int64_t cache_width() const { return 2 * heads_.kv_heads * head_size_; }
  AttentionOptions options(const Context& ctx) const;
  std::int64_t width() const { return qkv_.outputs(); }

  HeadShard heads_;
  int total_heads_;
  std::int64_t head_size_;
  float dropout_;
  int layer_;
  bool recompute_;
  Tensor rope_;
  Linear qkv_, output_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

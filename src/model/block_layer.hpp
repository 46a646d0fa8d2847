// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pre-norm transformer block: x + attention(norm(x)), then x + mlp(norm(x)).
#include <vector>

#include "src/model/attention_layer.hpp"
#include "src/model/layer.hpp"
#include "src/model/mlp_layer.hpp"
#include "src/model/norm_layer.hpp"

namespace triax {

class BlockLayer : public Layer {
 public:
  /// `rope`: see AttentionLayer. `keep_outputs`: the frame holds the outputs of norms and of GELU;
  /// else the backward pass recomputes them.
  BlockLayer(const ModelConfig& model, int layer, const TensorShard& shard, const Tensor& rope,
             Recompute recompute = Recompute::none, bool keep_outputs = false);

  const std::vector<ParameterSpec>& params() const override { return params_; }
  std::size_t frame_bytes(const BatchShape& shape) const override;
  std::size_t scratch_bytes(const BatchShape& shape) const override;
  LayerMessages messages(const BatchShape& shape) const override;
  bool recomputed() const override { return recomputed_; }
  void forward(const Context& ctx, const LayerParameters& params, const Tensor& x, const Tensor& y,
               const Tensor& frame) const override;
  void backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                const Tensor& dy, const Tensor& dx, const Tensor& frame) const override;

 private:
  struct Frame {
    AttentionLayer::Frame attention;
    Tensor middle;  // (local_rows, E): the residual stream between attention and MLP
    MlpLayer::Frame mlp;
    // (local_rows, E): outputs of the norms; empty if the backward pass recomputes them.
    Tensor attention_normed, mlp_normed;
  };
  Frame carve(Arena& arena, const BatchShape& shape) const;
  struct Scratch;
  // One half of the block: a norm, then attention or the MLP, added to the residual stream.
  struct Half {
    const NormLayer& norm;
    const Linear& output;  // its bias is added after the sum over tensor ranks
    std::size_t norm_at;   // index of the norm's first parameter
    std::size_t body_at;   // index of attention's or the MLP's first parameter
    std::size_t bias_at;   // index of the output's bias
    DropoutPlace place;
  };
  Half attention_half() const;
  Half mlp_half() const;
  ComingRows enter(const Context& ctx, const LayerParameters& params, const Half& half,
                   const Tensor& x, const Tensor& kept, const Scratch& scratch) const;
  ComingRows enter_again(const Context& ctx, const LayerParameters& params, const Half& half,
                         const Tensor& x, const Tensor& kept, const Scratch& scratch) const;
  // Addend to the residual stream; bias may be empty.
  struct Output {
    Tensor sum, bias;
  };
  Output output(const Context& ctx, const LayerParameters& params, const Half& half,
                const Scratch& scratch) const;
  Tensor pass_on(const Context& ctx, const LayerParameters& params, const Half& half,
                 const Half& next, const Tensor& x, const Tensor& y, const Tensor& kept,
                 const Scratch& scratch) const;
  ComingRows enter_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                            const Tensor& dy, const Scratch& scratch) const;
  void leave_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                      const Tensor& x, const Tensor& dy, const Tensor& dx, ComingRows dh) const;

  std::int64_t width_;
  int layer_;
  float dropout_;
  bool recomputed_;
  bool keep_outputs_;
  TensorShard shard_;
  NormLayer attention_norm_;
  AttentionLayer attention_;
  NormLayer mlp_norm_;
  MlpLayer mlp_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A transformer block: x + attention(norm(x)), then x + mlp(norm(x)). Architectures normalise
// outputs instead or too (x + norm(attention(x))), or give both halves the block's input (parallel:
// x + attention(norm(x)) + mlp(norm(x))).
#include <array>
#include <optional>
#include <vector>

#include "src/model/block/attention_layer.hpp"
#include "src/model/block/mlp_layer.hpp"
#include "src/model/layer.hpp"
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
  std::size_t operand_bytes(const BatchShape& shape) const override;
  void weight_gradients(const Context& ctx, const LayerParameters& params,
                        const Tensor& operands) const override;

 private:
  // Tensors of a half in the frame, beside the activations of attention or of the MLP.
  struct Kept {
    Tensor normed;  // (local_rows, E): output of the first norm; empty if it is recomputed
    Tensor output;  // (local_rows, E): input of the last norm; empty without
  };
  struct Frame {
    AttentionLayer::Frame attention;
    Tensor middle;  // (local_rows, E): the residual stream between attention and MLP; empty if they
                    // are parallel
    MlpLayer::Frame mlp;
    Kept of_attention, of_mlp;
  };
  Frame carve(Arena& arena, const BatchShape& shape) const;
  struct Scratch;
  // One half of the block: a norm, attention or the MLP, a norm, added to the residual stream.
  struct Half {
    const std::optional<NormLayer>& norm;
    const std::optional<NormLayer>& post_norm;
    const LinearMap& output;  // its bias is added after the sum over tensor ranks
    std::size_t norm_at;      // index of the first norm's first parameter
    std::size_t body_at;      // index of attention's or the MLP's first parameter
    std::size_t bias_at;      // index of the output's bias
    std::size_t post_at;      // index of the last norm's first parameter
    DropoutPlace place;
  };
  Half attention_half() const;
  Half mlp_half() const;
  ComingRows enter(const Context& ctx, const LayerParameters& params, const Half& half,
                   const Tensor& x, const Kept& kept, const Scratch& scratch) const;
  ComingRows enter_again(const Context& ctx, const LayerParameters& params, const Half& half,
                         const Tensor& x, const Kept& kept, const Scratch& scratch) const;
  const Tensor& partial_output(const Half& half, const Kept& kept, const Scratch& scratch) const;
  // Addend to the residual stream; bias may be empty.
  struct Output {
    Tensor sum, bias;
  };
  Output output(const Context& ctx, const LayerParameters& params, const Half& half,
                const Kept& kept, const Scratch& scratch) const;
  Tensor pass_on(const Context& ctx, const LayerParameters& params, const Output& out,
                 const Half& next, const Tensor& x, const Tensor& y, const Kept& kept,
                 const Scratch& scratch) const;
  ComingRows enter_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                            const Tensor& dy, const Kept& kept, const Scratch& scratch) const;
  void leave_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                      const Tensor& x, const Tensor& dy, const Tensor& dx, ComingRows dh) const;

  // A linear map and the index of its weight among params_.
  struct Map {
    const LinearMap& linear;
    std::size_t weight_at;
  };
  // In the order in which backward() reaches their weights.
  std::array<Map, 4> maps() const;

  std::int64_t width_;
  int layer_;
  float dropout_;
  float residual_scale_;
  bool recomputed_;
  bool keep_outputs_;
  bool parallel_;
  TensorShard shard_;
  std::optional<NormLayer> attention_norm_;
  AttentionLayer attention_;
  std::optional<NormLayer> attention_post_norm_, mlp_norm_;
  MlpLayer mlp_;
  std::optional<NormLayer> mlp_post_norm_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The MLP of a block: an activation, gated or not, between two linear maps.
#include <vector>

#include "src/config/config.hpp"
#include "src/model/block/projections.hpp"
#include "src/model/layer.hpp"

namespace triax {

class MlpLayer {
 public:
  /// `keep_output`: GELU's output stays in the frame; else the backward pass recomputes it, as it
  /// does that of gated activations.
  MlpLayer(const ModelConfig& model, int layer, const TensorShard& shard, bool keep_output);

  const std::vector<ParameterSpec>& params() const { return params_; }
  std::size_t output_at() const { return input_.params().size(); }
  const LinearMap& input() const { return input_.base(); }
  const LinearMap& output() const { return output_.base(); }

  /// Activations that the backward pass needs, carved from a frame.
  struct Frame {
    Tensor hidden;                     // (rows, I or 2 I): input of the activation
    Tensor active;                     // (rows, I): its output; empty if it is recomputed
    Tensor input_norms, output_norms;  // AdaptedLinear::carve_norms
  };
  Frame carve(Arena& arena, const BatchShape& shape) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;
  /// Messages of the forward pass.
  Messages norm_messages(const TensorShard& shard) const {
    return input_.norm_messages(shard) + output_.norm_messages(shard);
  }

  /// partial (rows, E) = this rank's share of the output. h: (rows, E), normed.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& h, const Tensor& partial,
               const Frame& frame) const;
  /// Gradient of h from dpartial (rows, E), summed over the tensor ranks. dh (rows, E) holds it
  /// before the sum, `local` after (see AdaptedLinear::backward_between_messages).
  ComingRows backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                      ComingRows h, ComingRows dpartial, const Tensor& dh, const Tensor& local,
                      const Frame& frame) const;

 private:
  struct Scratch;
  // The activation, and its gradient with the activation itself.
  void activate(const Context& ctx, const Tensor& active, const Tensor& hidden) const;
  void activate_backward(const Context& ctx, const Tensor& dhidden, const Tensor& active,
                         const Tensor& dactive, const Tensor& hidden) const;

  Mlp kind_;
  bool gated_;
  bool fused_;  // the products compute the activation and its gradient
  bool keep_output_;
  AdaptedLinear input_, output_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

#pragma once
// The feed-forward part of a block: GELU (GPT-2) or SwiGLU (Llama, Qwen2) between two linear maps.
#include <vector>

#include "src/config/config.hpp"
#include "src/model/architecture.hpp"
#include "src/model/layer.hpp"

namespace triax {

class MlpLayer {
 public:
  MlpLayer(const ModelConfig& model, int layer, const TensorShard& shard);

  const std::vector<ParameterSpec>& params() const { return params_; }
  std::size_t output_at() const { return input_.params().size(); }
  const Linear& output() const { return output_; }

  /// What the backward pass needs: the input of the activation. (rows, I) or (rows, 2 I).
  Tensor carve(Arena& arena, const BatchShape& shape) const;
  std::size_t scratch_bytes(const BatchShape& shape) const;

  /// partial (rows, E) = this rank's share of the output. h: (rows, E), normed.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& h, const Tensor& partial,
               const Tensor& hidden) const;
  /// The gradient of h, summed over the tensor ranks (Linear::backward_between_messages: by way of
  /// dh (rows, E), into `local`), from dpartial (rows, E).
  ComingRows backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                      ComingRows h, ComingRows dpartial, const Tensor& dh, const Tensor& local,
                      const Tensor& hidden) const;

 private:
  struct Scratch;
  bool gated_;
  Linear input_, output_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A normalisation before or after attention or MLP, or before the head: LayerNorm or RMSNorm.
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/model/context.hpp"

namespace triax {

class NormLayer {
 public:
  /// `name`: Hugging Face's name without ".weight".
  NormLayer(const ModelConfig& model, const std::string& name, const TensorShard& shard);

  const std::vector<ParameterSpec>& params() const { return params_; }
  /// Most that backward takes from the scratch arena.
  std::size_t scratch_bytes(std::int64_t rows, MemorySpace space) const;

  /// y = norm(x) on (rows, E), the rows this rank keeps.
  void forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y) const;
  /// sum = x + a + bias (bias may be empty); y = norm(sum).
  void residual_forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& a,
                        const Tensor& bias, const Tensor& sum, const Tensor& y) const;
  /// dx = residual + gradient through the norm; residual may be dx or empty.
  void backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                const Tensor& x, const Tensor& dy, const Tensor& residual, const Tensor& dx) const;

 private:
  bool layernorm_;
  float epsilon_, offset_;
  std::int64_t width_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax

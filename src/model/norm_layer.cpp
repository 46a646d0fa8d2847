// SPDX-License-Identifier: Apache-2.0
#include "src/model/norm_layer.hpp"

#include "kernels/norm/layernorm.hpp"
#include "kernels/norm/rmsnorm.hpp"
#include "src/model/families/families.hpp"

namespace triax {

NormLayer::NormLayer(const ModelConfig& model, const std::string& name, const TensorShard& shard)
    : layernorm_(family_of(model).block.norm == NormKind::layer_norm),
      epsilon_(model.norm_epsilon),
      offset_(family_of(model).block.norm_offset),
      width_(model.hidden) {
  const bool partial = shard.sequence_parallel;  // each rank sees its own rows only
  params_.push_back(replicated_parameter(name + ".weight", name + ".weight", {width_}, shard,
                                         partial, offset_ == 0.0F ? Initial::one : Initial::zero));
  if (layernorm_)
    params_.push_back(replicated_parameter(name + ".bias", name + ".bias", {width_}, shard, partial,
                                           Initial::zero));
}

std::size_t NormLayer::scratch_bytes(std::int64_t rows, MemorySpace space) const {
  return layernorm_ ? layernorm_scratch_bytes(rows, width_, space)
                    : rmsnorm_scratch_bytes(rows, width_, space);
}

void NormLayer::forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                        const Tensor& y) const {
  if (layernorm_)
    layernorm_forward(ctx.stream, y, x, weights[0], weights[1], epsilon_);
  else
    rmsnorm_forward(ctx.stream, y, x, weights[0], epsilon_, offset_);
}

void NormLayer::residual_forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                                 const Tensor& a, const Tensor& bias, const Tensor& sum,
                                 const Tensor& y) const {
  if (layernorm_)
    residual_layernorm_forward(ctx.stream, y, sum, x, a, bias, weights[0], weights[1], epsilon_);
  else
    residual_rmsnorm_forward(ctx.stream, y, sum, x, a, bias, weights[0], epsilon_, offset_);
}

void NormLayer::backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                         const Tensor& x, const Tensor& dy, const Tensor& residual,
                         const Tensor& dx) const {
  if (layernorm_)
    // A frozen parameter is in another bucket, whose first micro-batch says nothing.
    layernorm_backward(ctx.stream, dx, gradients[0].data, gradients[1].data, dy, residual, x,
                       weights[0], epsilon_,
                       gradients[gradients[0].data.empty() ? 1 : 0].accumulate, ctx.scratch);
  else
    rmsnorm_backward(ctx.stream, dx, gradients[0].data, dy, residual, x, weights[0], epsilon_,
                     gradients[0].accumulate, ctx.scratch, offset_);
}

}  // namespace triax

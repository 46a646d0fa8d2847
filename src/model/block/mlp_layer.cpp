// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/mlp_layer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/geglu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/swiglu.hpp"

namespace triax {

struct MlpLayer::Scratch {
  Tensor active;   // (rows, I), output of the activation; empty if the frame has it
  Tensor dactive;  // (rows, I)
  Tensor dhidden;  // (rows, I or 2 I); GELU's is fused into the product
  Scratch(Arena& arena, const BatchShape& shape, std::int64_t width, bool gated, bool kept)
      : active(kept ? Tensor{} : arena.take("mlp activation", shape.type, {shape.rows, width})),
        dactive(arena.take("mlp activation gradient", shape.type, {shape.rows, width})),
        dhidden(gated ? arena.take("mlp hidden gradient", shape.type, {shape.rows, 2 * width})
                      : dactive) {}
};

MlpLayer::MlpLayer(const ModelConfig& model, int layer, const TensorShard& shard, bool keep_output)
    : kind_(family_of(model).block.mlp),
      gated_(family_of(model).block.gated()),
      fused_(kind_ == Mlp::gelu && !model.exact_gelu),
      keep_output_(keep_output && !gated_),
      input_(mlp_input(model, layer, shard)),
      output_(mlp_output(model, layer, shard)),
      params_(input_.params()) {
  params_.insert(params_.end(), output_.params().begin(), output_.params().end());
}

MlpLayer::Frame MlpLayer::carve(Arena& arena, const BatchShape& shape) const {
  Frame frame;
  frame.hidden = arena.take("mlp hidden", shape.type, {shape.rows, input_.outputs()});
  if (keep_output_)
    frame.active = arena.take("mlp activation", shape.type, {shape.rows, output_.inputs()});
  frame.input_norms = input_.carve_norms(arena);
  frame.output_norms = output_.carve_norms(arena);
  return frame;
}

std::size_t MlpLayer::scratch_bytes(const BatchShape& shape) const {
  return measure(
             [&](Arena& arena) { Scratch(arena, shape, output_.inputs(), gated_, keep_output_); }) +
         std::max(input_.scratch_bytes(shape), output_.scratch_bytes(shape));
}

void MlpLayer::activate(const Context& ctx, const Tensor& active, const Tensor& hidden) const {
  switch (kind_) {
    case Mlp::gelu:
      return gelu_forward(ctx.stream, active, hidden, Gelu::erf);
    case Mlp::swiglu:
      return swiglu_forward(ctx.stream, active, hidden);
    case Mlp::geglu:
      return geglu_forward(ctx.stream, active, hidden);
  }
}

void MlpLayer::activate_backward(const Context& ctx, const Tensor& dhidden, const Tensor& active,
                                 const Tensor& dactive, const Tensor& hidden) const {
  switch (kind_) {
    case Mlp::gelu:
      return gelu_backward(ctx.stream, dhidden, active, dactive, hidden, Gelu::erf);
    case Mlp::swiglu:
      return swiglu_backward(ctx.stream, dhidden, active, dactive, hidden);
    case Mlp::geglu:
      return geglu_backward(ctx.stream, dhidden, active, dactive, hidden);
  }
}

void MlpLayer::forward(const Context& ctx, const Tensor* weights, const Tensor& h,
                       const Tensor& partial, const Frame& frame) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor active = keep_output_ ? frame.active
                                     : ctx.scratch.take("mlp activation", ctx.shape.type,
                                                        {ctx.shape.rows, output_.inputs()});
  if (fused_) {
    input_.forward(ctx, weights, h, active, frame.hidden, frame.input_norms);
  } else {
    input_.forward(ctx, weights, h, frame.hidden, {}, frame.input_norms);
    activate(ctx, active, frame.hidden);
  }
  output_.forward(ctx, weights + output_at(), active, partial, {}, frame.output_norms);
}

ComingRows MlpLayer::backward(const Context& ctx, const Tensor* weights, const Gradient* gradients,
                              ComingRows h, ComingRows dpartial, const Tensor& dh,
                              const Tensor& local, const Frame& frame) const {
  const Tensor& dout = dpartial.wait(ctx);
  const ArenaScope scope(ctx.scratch);
  const Scratch s(ctx.scratch, ctx.shape, output_.inputs(), gated_, keep_output_);
  const Tensor& active = keep_output_ ? frame.active : s.active;
  if (fused_) {
    output_.backward_input(ctx, weights + output_at(), dout, s.dhidden, {frame.hidden, s.active},
                           frame.output_norms);
  } else {
    output_.backward_input(ctx, weights + output_at(), dout, s.dactive, {}, frame.output_norms);
    activate_backward(ctx, s.dhidden, s.active, s.dactive, frame.hidden);
  }
  output_.backward_weight(ctx, weights + output_at(), gradients + output_at(), active, dout,
                          frame.output_norms);
  return input_.backward_between_messages(ctx, weights, gradients, std::move(h), s.dhidden, dh,
                                          local, frame.input_norms);
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/model/block_layer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/random/dropout.hpp"

namespace triax {

// Without sequence parallelism the local rows are all rows, and one buffer serves as both.
struct BlockLayer::Scratch {
  Tensor normed;   // (local_rows, E); empty if the frame keeps it
  Tensor h;        // (rows, E): normed, gathered
  Tensor partial;  // (rows, E): a rank's share of an output or of the gradient of h
  Tensor summed;   // (local_rows, E)
  Tensor dfull;    // (rows, E): gradient of an output, gathered
  Tensor dropped;  // (local_rows, E): gradient after a dropout mask
  Scratch(Arena& arena, const BatchShape& shape, std::int64_t width, bool sequence_parallel,
          bool dropout, bool kept) {
    const auto take = [&](const char* name, std::int64_t rows) {
      return arena.take(name, shape.type, {rows, width});
    };
    if (!kept) normed = take("normed input", shape.local_rows);
    h = sequence_parallel ? take("gathered input", shape.rows) : normed;
    partial = take("partial output", shape.rows);
    summed = sequence_parallel ? take("summed output", shape.local_rows) : partial;
    dropped = dropout ? take("dropout gradient", shape.local_rows) : Tensor{};
    dfull = sequence_parallel ? take("gathered gradient", shape.rows) : Tensor{};
  }
};

BlockLayer::BlockLayer(const ModelConfig& model, int layer, const TensorShard& shard,
                       const Tensor& rope, Recompute recompute, bool keep_outputs)
    : width_(model.hidden),
      layer_(layer),
      dropout_(model.residual_dropout),
      recomputed_(recompute == Recompute::layer),
      keep_outputs_(keep_outputs),
      shard_(shard),
      attention_norm_(model, block_name(model, layer, family_of(model).block.names.attention_norm),
                      shard),
      attention_(model, layer, shard, rope, recompute == Recompute::attention),
      mlp_norm_(model, block_name(model, layer, family_of(model).block.names.mlp_norm), shard),
      mlp_(model, layer, shard, keep_outputs) {
  for (const auto* list :
       {&attention_norm_.params(), &attention_.params(), &mlp_norm_.params(), &mlp_.params()})
    params_.insert(params_.end(), list->begin(), list->end());
}

BlockLayer::Half BlockLayer::attention_half() const {
  const std::size_t body = attention_norm_.params().size();
  return {attention_norm_,
          attention_.output(),
          0,
          body,
          body + attention_.output_at() + 1,
          DropoutPlace::attention_output};
}

BlockLayer::Half BlockLayer::mlp_half() const {
  const std::size_t norm = attention_norm_.params().size() + attention_.params().size();
  const std::size_t body = norm + mlp_norm_.params().size();
  return {
      mlp_norm_, mlp_.output(), norm, body, body + mlp_.output_at() + 1, DropoutPlace::mlp_output};
}

BlockLayer::Frame BlockLayer::carve(Arena& arena, const BatchShape& shape) const {
  Frame frame;
  frame.attention = attention_.carve(arena, shape);
  frame.middle = arena.take("residual stream", shape.type, {shape.local_rows, width_});
  frame.mlp = mlp_.carve(arena, shape);
  if (!keep_outputs_) return frame;
  for (Tensor* normed : {&frame.attention_normed, &frame.mlp_normed})
    *normed = arena.take("normed input", shape.type, {shape.local_rows, width_});
  return frame;
}

std::size_t BlockLayer::frame_bytes(const BatchShape& shape) const {
  return measure([&](Arena& arena) { carve(arena, shape); });
}

std::size_t BlockLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t own = measure([&](Arena& arena) {
    Scratch(arena, shape, width_, shard_.sequence_parallel, dropout_ > 0.0F, keep_outputs_);
  });
  const bool has_bias = attention_.output().has_bias() || mlp_.output().has_bias();
  const std::size_t bias = has_bias ? bias_backward_scratch_bytes(shape.local_rows, width_) : 0;
  return own + std::max({attention_.scratch_bytes(shape), mlp_.scratch_bytes(shape),
                         attention_norm_.scratch_bytes(shape.local_rows, shape.space), bias});
}

// Per half, forward: rows are gathered after the norm and summed after the output. Backward: the
// same, and the output's gradient is gathered at the same time as the rows after the norm.
LayerMessages BlockLayer::messages(const BatchShape& shape) const {
  const Messages gather = gather_rows_messages(shard_, shape, width_);
  const Messages reduce = reduce_rows_messages(shard_, shape, width_);
  LayerMessages messages{2 * (gather + reduce), 2 * (2 * gather + reduce)};
  if (shard_.sequence_parallel) messages.backward.at_once = 2;
  return messages;
}

// norm(x), all rows. This rank's rows stay in the frame if it keeps outputs.
ComingRows BlockLayer::enter(const Context& ctx, const LayerParameters& params, const Half& half,
                             const Tensor& x, const Tensor& kept, const Scratch& scratch) const {
  const Tensor& normed = keep_outputs_ ? kept : scratch.normed;
  half.norm.forward(ctx, &params.weights[half.norm_at], x, normed);
  return gather_rows(ctx, normed, scratch.h);
}

// enter() for the backward pass, which reuses outputs that the frame kept.
ComingRows BlockLayer::enter_again(const Context& ctx, const LayerParameters& params,
                                   const Half& half, const Tensor& x, const Tensor& kept,
                                   const Scratch& scratch) const {
  return keep_outputs_ ? gather_rows(ctx, kept, scratch.h)
                       : enter(ctx, params, half, x, kept, scratch);
}

// dropout(sum over tensor ranks of scratch.partial + bias); without dropout, sum and bias
// separately.
BlockLayer::Output BlockLayer::output(const Context& ctx, const LayerParameters& params,
                                      const Half& half, const Scratch& scratch) const {
  const Tensor sum = reduce_rows(ctx, scratch.partial, scratch.summed).wait(ctx);
  const Tensor bias = half.output.has_bias() ? params.weights[half.bias_at] : Tensor{};
  if (!ctx.training || dropout_ == 0.0F) return {sum, bias};
  if (!bias.empty()) add_bias(ctx.stream, sum, bias);
  dropout(ctx.stream, sum, sum, {dropout_, dropout_key(ctx, layer_, half.place)},
          first_element(ctx, width_));
  return {sum, Tensor{}};
}

// y = x + output of `half`. Returns norm(y), all rows, for the `next` half.
Tensor BlockLayer::pass_on(const Context& ctx, const LayerParameters& params, const Half& half,
                           const Half& next, const Tensor& x, const Tensor& y, const Tensor& kept,
                           const Scratch& scratch) const {
  const Output out = output(ctx, params, half, scratch);
  const Tensor& normed = keep_outputs_ ? kept : scratch.normed;
  next.norm.residual_forward(ctx, &params.weights[next.norm_at], x, out.sum, out.bias, y, normed);
  return gather_rows(ctx, normed, scratch.h).wait(ctx);
}

// Gradient of the half's output, all rows. Computes the bias gradient during the gather.
ComingRows BlockLayer::enter_backward(const Context& ctx, const LayerParameters& params,
                                      const Half& half, const Tensor& dy,
                                      const Scratch& scratch) const {
  Tensor gradient = dy;
  if (dropout_ > 0.0F) {
    dropout(ctx.stream, scratch.dropped, dy, {dropout_, dropout_key(ctx, layer_, half.place)},
            first_element(ctx, width_));
    gradient = scratch.dropped;
  }
  ComingRows rows = gather_rows(ctx, gradient, scratch.dfull);
  if (half.output.has_bias()) {
    const Gradient& bias = params.gradients[half.bias_at];
    bias_backward(ctx.stream, bias.data, gradient, bias.accumulate, ctx.scratch);
  }
  return rows;
}

// dx = dy + gradient through the norm.
void BlockLayer::leave_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                                const Tensor& x, const Tensor& dy, const Tensor& dx,
                                ComingRows dh) const {
  half.norm.backward(ctx, &params.weights[half.norm_at], &params.gradients[half.norm_at], x,
                     dh.wait(ctx), dy, dx);
}

void BlockLayer::forward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                         const Tensor& y, const Tensor& frame) const {
  Arena frame_arena(frame.data(), static_cast<std::size_t>(frame.bytes()), frame.space());
  const Frame saved = carve(frame_arena, ctx.shape);
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, width_, shard_.sequence_parallel, dropout_ > 0.0F,
                        keep_outputs_);

  const Half attention = attention_half();
  Tensor h = enter(ctx, params, attention, x, saved.attention_normed, scratch).wait(ctx);
  attention_.forward(ctx, &params.weights[attention.body_at], h, scratch.partial, saved.attention);

  const Half mlp = mlp_half();
  h = pass_on(ctx, params, attention, mlp, x, saved.middle, saved.mlp_normed, scratch);
  mlp_.forward(ctx, &params.weights[mlp.body_at], h, scratch.partial, saved.mlp);
  const Output out = output(ctx, params, mlp, scratch);
  residual_forward(ctx.stream, y, saved.middle, out.sum, out.bias);
}

void BlockLayer::backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                          const Tensor& dy, const Tensor& dx, const Tensor& frame) const {
  Arena frame_arena(frame.data(), static_cast<std::size_t>(frame.bytes()), frame.space());
  const Frame saved = carve(frame_arena, ctx.shape);
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, width_, shard_.sequence_parallel, dropout_ > 0.0F,
                        keep_outputs_);

  const Half mlp = mlp_half();
  ComingRows dout = enter_backward(ctx, params, mlp, dy, scratch);
  ComingRows h = enter_again(ctx, params, mlp, saved.middle, saved.mlp_normed, scratch);
  ComingRows dh =
      mlp_.backward(ctx, &params.weights[mlp.body_at], &params.gradients[mlp.body_at], std::move(h),
                    std::move(dout), scratch.partial, scratch.summed, saved.mlp);
  leave_backward(ctx, params, mlp, saved.middle, dy, dx, std::move(dh));

  const Half attention = attention_half();
  dout = enter_backward(ctx, params, attention, dx, scratch);
  h = enter_again(ctx, params, attention, x, saved.attention_normed, scratch);
  dh = attention_.backward(ctx, &params.weights[attention.body_at],
                           &params.gradients[attention.body_at], std::move(h), std::move(dout),
                           scratch.partial, scratch.summed, saved.attention);
  leave_backward(ctx, params, attention, x, dx, dx, std::move(dh));
}

}  // namespace triax

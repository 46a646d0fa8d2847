// SPDX-License-Identifier: Apache-2.0
#include "src/model/block/block_layer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/random/dropout.hpp"

namespace triax {
namespace {

// The norm of that name in the block's spec; none if the architecture has no such norm.
std::optional<NormLayer> norm_of(const ModelConfig& model, int layer, const char* name,
                                 const TensorShard& shard) {
  if (*name == '\0') return {};
  return NormLayer(model, block_name(model, layer, name), shard);
}

std::size_t parameters_of(const std::optional<NormLayer>& norm) {
  return norm ? norm->params().size() : 0;
}

}  // namespace

// Without sequence parallelism the local rows are all rows, and one buffer serves as both.
struct BlockLayer::Scratch {
  Tensor normed;      // (local_rows, E); empty if the frame keeps it
  Tensor h;           // (rows, E): normed, gathered
  Tensor partial;     // (rows, E): a rank's share of an output or of the gradient of h
  Tensor summed;      // (local_rows, E)
  Tensor dfull;       // (rows, E): gradient of an output, gathered
  Tensor changed;     // (local_rows, E): gradient after a dropout mask or a scale
  Tensor normed_out;  // (local_rows, E): output of a last norm, or gradient of its input
  Scratch(Arena& arena, const BatchShape& shape, const BlockLayer& block) {
    const auto take = [&](const char* name, std::int64_t rows) {
      return arena.take(name, shape.type, {rows, block.width_});
    };
    const bool gathers = block.shard_.sequence_parallel;
    if (!block.keep_outputs_) normed = take("normed input", shape.local_rows);
    h = gathers ? take("gathered input", shape.rows) : normed;
    partial = take("partial output", shape.rows);
    summed = gathers ? take("summed output", shape.local_rows) : partial;
    if (block.dropout_ > 0.0F || block.residual_scale_ != 1.0F)
      changed = take("changed gradient", shape.local_rows);
    dfull = gathers ? take("gathered gradient", shape.rows) : Tensor{};
    if (block.attention_post_norm_ || block.mlp_post_norm_)
      normed_out = take("normed output", shape.local_rows);
  }
};

BlockLayer::BlockLayer(const ModelConfig& model, int layer, const TensorShard& shard,
                       const Tensor& rope, Recompute recompute, bool keep_outputs)
    : width_(model.hidden),
      layer_(layer),
      dropout_(model.residual_dropout),
      residual_scale_(model.residual_scale),
      recomputed_(recompute == Recompute::layer),
      keep_outputs_(keep_outputs),
      parallel_(model.parallel_residual),
      shard_(shard),
      attention_norm_(norm_of(model, layer, family_of(model).block.names.attention_norm, shard)),
      attention_(model, layer, shard, rope, recompute == Recompute::attention),
      attention_post_norm_(
          norm_of(model, layer, family_of(model).block.names.attention_post_norm, shard)),
      mlp_norm_(norm_of(model, layer, family_of(model).block.names.mlp_norm, shard)),
      mlp_(model, layer, shard, keep_outputs),
      mlp_post_norm_(norm_of(model, layer, family_of(model).block.names.mlp_post_norm, shard)) {
  const auto add = [&](const std::vector<ParameterSpec>& list) {
    params_.insert(params_.end(), list.begin(), list.end());
  };
  if (attention_norm_) add(attention_norm_->params());
  add(attention_.params());
  for (const auto* norm : {&attention_post_norm_, &mlp_norm_})
    if (*norm) add((*norm)->params());
  add(mlp_.params());
  if (mlp_post_norm_) add(mlp_post_norm_->params());
  mark_trained(params_, model);
}

BlockLayer::Half BlockLayer::attention_half() const {
  const std::size_t body = parameters_of(attention_norm_);
  return {attention_norm_,
          attention_post_norm_,
          attention_.output(),
          0,
          body,
          body + attention_.output_at() + 1,
          body + attention_.params().size(),
          DropoutPlace::attention_output};
}

BlockLayer::Half BlockLayer::mlp_half() const {
  const std::size_t norm = parameters_of(attention_norm_) + attention_.params().size() +
                           parameters_of(attention_post_norm_);
  const std::size_t body = norm + parameters_of(mlp_norm_);
  return {mlp_norm_,
          mlp_post_norm_,
          mlp_.output(),
          norm,
          body,
          body + mlp_.output_at() + 1,
          body + mlp_.params().size(),
          DropoutPlace::mlp_output};
}

BlockLayer::Frame BlockLayer::carve(Arena& arena, const BatchShape& shape) const {
  const auto take = [&](const char* name) {
    return arena.take(name, shape.type, {shape.local_rows, width_});
  };
  Frame frame;
  frame.attention = attention_.carve(arena, shape);
  if (!parallel_) frame.middle = take("residual stream");
  frame.mlp = mlp_.carve(arena, shape);
  if (keep_outputs_ && attention_norm_) frame.of_attention.normed = take("normed input");
  if (keep_outputs_ && mlp_norm_) frame.of_mlp.normed = take("normed input");
  if (attention_post_norm_) frame.of_attention.output = take("attention output");
  if (mlp_post_norm_) frame.of_mlp.output = take("mlp output");
  return frame;
}

std::size_t BlockLayer::frame_bytes(const BatchShape& shape) const {
  return measure([&](Arena& arena) { carve(arena, shape); });
}

std::size_t BlockLayer::scratch_bytes(const BatchShape& shape) const {
  const std::size_t own = measure([&](Arena& arena) { Scratch(arena, shape, *this); });
  const bool has_bias = attention_.output().has_bias() || mlp_.output().has_bias();
  std::size_t most = std::max(attention_.scratch_bytes(shape), mlp_.scratch_bytes(shape));
  if (has_bias) most = std::max(most, bias_backward_scratch_bytes(shape.local_rows, width_));
  for (const auto* norm : {&attention_norm_, &attention_post_norm_, &mlp_norm_, &mlp_post_norm_})
    if (*norm) most = std::max(most, (*norm)->scratch_bytes(shape.local_rows, shape.space));
  return own + most;
}

// Per half, forward: rows are gathered after the norm and summed after the output. Backward: the
// same, and the output's gradient is gathered at the same time as the rows after the norm.
LayerMessages BlockLayer::messages(const BatchShape& shape) const {
  const Messages gather = gather_rows_messages(shard_, shape, width_);
  const Messages reduce = reduce_rows_messages(shard_, shape, width_);
  const Messages own = attention_.messages(shape);
  const Messages norms = attention_.norm_messages(shard_) + mlp_.norm_messages(shard_);
  LayerMessages messages{2 * (gather + reduce) + own + norms, 2 * (2 * gather + reduce) + own};
  if (shard_.sequence_parallel) messages.backward.at_once = 2;
  return messages;
}

// norm(x), all rows. This rank's rows stay in the frame if it keeps outputs.
ComingRows BlockLayer::enter(const Context& ctx, const LayerParameters& params, const Half& half,
                             const Tensor& x, const Kept& kept, const Scratch& scratch) const {
  if (!half.norm) return gather_rows(ctx, x, scratch.h);
  const Tensor& normed = keep_outputs_ ? kept.normed : scratch.normed;
  half.norm->forward(ctx, &params.weights[half.norm_at], x, normed);
  return gather_rows(ctx, normed, scratch.h);
}

// enter() for the backward pass, which reuses outputs that the frame kept.
ComingRows BlockLayer::enter_again(const Context& ctx, const LayerParameters& params,
                                   const Half& half, const Tensor& x, const Kept& kept,
                                   const Scratch& scratch) const {
  return keep_outputs_ && half.norm ? gather_rows(ctx, kept.normed, scratch.h)
                                    : enter(ctx, params, half, x, kept, scratch);
}

// Destination of this rank's share of an output. The frame keeps the sum if a norm follows: the sum
// replaces the share without sequence parallelism.
const Tensor& BlockLayer::partial_output(const Half& half, const Kept& kept,
                                         const Scratch& scratch) const {
  return half.post_norm && !shard_.sequence_parallel ? kept.output : scratch.partial;
}

// norm(dropout(scale (sum over tensor ranks of partial_output + bias))); without any of them, sum
// and bias separately.
BlockLayer::Output BlockLayer::output(const Context& ctx, const LayerParameters& params,
                                      const Half& half, const Kept& kept,
                                      const Scratch& scratch) const {
  const Tensor sum = reduce_rows(ctx, partial_output(half, kept, scratch),
                                 half.post_norm ? kept.output : scratch.summed)
                         .wait(ctx);
  const Tensor bias = half.output.has_bias() ? params.weights[half.bias_at] : Tensor{};
  const bool drops = ctx.training && dropout_ > 0.0F;
  const bool scales = residual_scale_ != 1.0F;
  if (!drops && !scales && !half.post_norm) return {sum, bias};
  if (!bias.empty()) add_bias(ctx.stream, sum, bias);
  if (scales) scale(ctx.stream, sum, sum, residual_scale_);
  if (drops)
    dropout(ctx.stream, sum, sum, {dropout_, dropout_key(ctx, layer_, half.place)},
            first_element(ctx, width_));
  if (!half.post_norm) return {sum, Tensor{}};
  half.post_norm->forward(ctx, &params.weights[half.post_at], sum, scratch.normed_out);
  return {scratch.normed_out, Tensor{}};
}

// y = x + out. Returns what the `next` half reads of y, all rows.
Tensor BlockLayer::pass_on(const Context& ctx, const LayerParameters& params, const Output& out,
                           const Half& next, const Tensor& x, const Tensor& y, const Kept& kept,
                           const Scratch& scratch) const {
  if (!next.norm) {
    residual_forward(ctx.stream, y, x, out.sum, out.bias);
    return gather_rows(ctx, y, scratch.h).wait(ctx);
  }
  const Tensor& normed = keep_outputs_ ? kept.normed : scratch.normed;
  next.norm->residual_forward(ctx, &params.weights[next.norm_at], x, out.sum, out.bias, y, normed);
  return gather_rows(ctx, normed, scratch.h).wait(ctx);
}

// Gradient of the half's output before its last norm, all rows. Computes the bias gradient during
// the gather.
ComingRows BlockLayer::enter_backward(const Context& ctx, const LayerParameters& params,
                                      const Half& half, const Tensor& dy, const Kept& kept,
                                      const Scratch& scratch) const {
  Tensor gradient = dy;
  if (half.post_norm) {
    half.post_norm->backward(ctx, &params.weights[half.post_at], &params.gradients[half.post_at],
                             kept.output, dy, Tensor{}, scratch.normed_out);
    gradient = scratch.normed_out;
  }
  if (dropout_ > 0.0F) {
    dropout(ctx.stream, scratch.changed, gradient, {dropout_, dropout_key(ctx, layer_, half.place)},
            first_element(ctx, width_));
    gradient = scratch.changed;
  }
  if (residual_scale_ != 1.0F) {
    scale(ctx.stream, scratch.changed, gradient, residual_scale_);
    gradient = scratch.changed;
  }
  ComingRows rows = gather_rows(ctx, gradient, scratch.dfull);
  if (half.output.has_bias() && !params.gradients[half.bias_at].data.empty()) {
    const Gradient& bias = params.gradients[half.bias_at];
    bias_backward(ctx.stream, bias.data, gradient, bias.accumulate, ctx.scratch);
  }
  return rows;
}

// dx = dy + gradient through the norm.
void BlockLayer::leave_backward(const Context& ctx, const LayerParameters& params, const Half& half,
                                const Tensor& x, const Tensor& dy, const Tensor& dx,
                                ComingRows dh) const {
  const Tensor& gradient = dh.wait(ctx);
  if (half.norm)
    half.norm->backward(ctx, &params.weights[half.norm_at], &params.gradients[half.norm_at], x,
                        gradient, dy, dx);
  else
    residual_forward(ctx.stream, dx, dy, gradient, Tensor{});
}

void BlockLayer::forward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                         const Tensor& y, const Tensor& frame) const {
  Arena frame_arena(frame.data(), static_cast<std::size_t>(frame.bytes()), frame.space());
  const Frame saved = carve(frame_arena, ctx.shape);
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, *this);

  const Half attention = attention_half();
  Tensor h = enter(ctx, params, attention, x, saved.of_attention, scratch).wait(ctx);
  attention_.forward(ctx, &params.weights[attention.body_at], h,
                     partial_output(attention, saved.of_attention, scratch), saved.attention);
  const Output attended = output(ctx, params, attention, saved.of_attention, scratch);

  const Half mlp = mlp_half();
  const Tensor& middle = parallel_ ? y : saved.middle;
  if (parallel_) {
    residual_forward(ctx.stream, middle, x, attended.sum, attended.bias);
    h = enter(ctx, params, mlp, x, saved.of_mlp, scratch).wait(ctx);
  } else {
    h = pass_on(ctx, params, attended, mlp, x, middle, saved.of_mlp, scratch);
  }
  mlp_.forward(ctx, &params.weights[mlp.body_at], h, partial_output(mlp, saved.of_mlp, scratch),
               saved.mlp);
  const Output out = output(ctx, params, mlp, saved.of_mlp, scratch);
  residual_forward(ctx.stream, y, middle, out.sum, out.bias);
}

void BlockLayer::backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                          const Tensor& dy, const Tensor& dx, const Tensor& frame) const {
  Arena frame_arena(frame.data(), static_cast<std::size_t>(frame.bytes()), frame.space());
  const Frame saved = carve(frame_arena, ctx.shape);
  const ArenaScope scope(ctx.scratch);
  const Scratch scratch(ctx.scratch, ctx.shape, *this);

  const Half mlp = mlp_half();
  const Tensor& mlp_input = parallel_ ? x : saved.middle;
  ComingRows dout = enter_backward(ctx, params, mlp, dy, saved.of_mlp, scratch);
  ComingRows h = enter_again(ctx, params, mlp, mlp_input, saved.of_mlp, scratch);
  ComingRows dh =
      mlp_.backward(ctx, &params.weights[mlp.body_at], &params.gradients[mlp.body_at], std::move(h),
                    std::move(dout), scratch.partial, scratch.summed, saved.mlp);
  leave_backward(ctx, params, mlp, mlp_input, dy, dx, std::move(dh));

  const Half attention = attention_half();
  dout = enter_backward(ctx, params, attention, parallel_ ? dy : dx, saved.of_attention, scratch);
  h = enter_again(ctx, params, attention, x, saved.of_attention, scratch);
  dh = attention_.backward(ctx, &params.weights[attention.body_at],
                           &params.gradients[attention.body_at], std::move(h), std::move(dout),
                           scratch.partial, scratch.summed, saved.attention);
  leave_backward(ctx, params, attention, x, dx, dx, std::move(dh));
}

std::array<BlockLayer::Map, 4> BlockLayer::maps() const {
  const std::size_t mlp = mlp_half().body_at, attention = attention_half().body_at;
  return {{{mlp_.output(), mlp + mlp_.output_at()},
           {mlp_.input(), mlp},
           {attention_.output(), attention + attention_.output_at()},
           {attention_.qkv(), attention}}};
}

std::size_t BlockLayer::operand_bytes(const BatchShape& shape) const {
  return measure([&](Arena& arena) {
    for (const Map& map : maps())
      if (params_[map.weight_at].trained) map.linear.take_operands(arena, shape);
  });
}

void BlockLayer::weight_gradients(const Context& ctx, const LayerParameters& params,
                                  const Tensor& operands) const {
  Arena arena(operands.data(), static_cast<std::size_t>(operands.bytes()), operands.space());
  for (const Map& map : maps()) {
    const Gradient* gradients = &params.gradients[map.weight_at];
    if (gradients->data.empty()) continue;  // frozen
    const auto [x, dy] = map.linear.take_operands(arena, ctx.shape);
    map.linear.backward_weight(ctx, gradients, x, dy);
  }
}

}  // namespace triax

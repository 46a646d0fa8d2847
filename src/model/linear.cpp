// SPDX-License-Identifier: Apache-2.0
#include "src/model/linear.hpp"

#include <algorithm>

#include "kernels/activation/elementwise.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/matmul/fp8.hpp"
#include "kernels/matmul/row_matmul.hpp"
#include "kernels/norm/weight_norm.hpp"
#include "src/model/layer.hpp"
#include "src/model/packed/packed_rows.hpp"
#include "src/model/tile_side.hpp"

namespace triax {
namespace {

// Shape of a (rows, columns) matrix in the order in which the weight is stored.
Shape ordered(WeightOrder order, std::int64_t inputs, std::int64_t outputs) {
  return order == WeightOrder::input_output ? Shape{inputs, outputs} : Shape{outputs, inputs};
}

constexpr Float8 of_values = Float8::e4m3;  // weights and activations
constexpr Float8 of_gradients = Float8::e5m2;

void multiply(const Context& ctx, const Tensor& c, const Tensor& a, const Tensor& b,
              const Float8Operands& formats, const MatmulOptions& options) {
  if (ctx.shape.fp8)
    fp8_matmul(ctx.stream, c, a, b, formats, options, ctx.scratch);
  else
    matmul(ctx.stream, c, a, b, options);
}

}  // namespace

Linear Linear::column(const std::string& label, WeightOrder order, std::int64_t inputs,
                      std::vector<LinearPart> parts, float deviation) {
  Linear linear;
  linear.order_ = order;
  linear.inputs_ = inputs;
  for (const LinearPart& part : parts) linear.outputs_ += part.count;
  ParameterSpec weight{label + ".weight",
                       ordered(order, inputs, linear.outputs_),
                       {},
                       Initial::normal,
                       deviation,
                       false};
  weight.matrix = true;
  ParameterSpec bias{label + ".bias", {linear.outputs_}, {}, Initial::zero, 0.0F, false};
  std::int64_t at = 0, room = 0;
  for (const LinearPart& part : parts) {
    const bool partial = part.copies > 1;
    const std::int64_t begin = part.offset + part.begin;
    weight.pieces.push_back({part.weight, ordered(order, inputs, part.features),
                             ordered(order, 0, begin), ordered(order, inputs, part.count),
                             ordered(order, 0, at), part.copies, part.owner, partial});
    if (!part.bias.empty())
      bias.pieces.push_back({part.bias,
                             {part.features},
                             {begin},
                             {part.count},
                             {at},
                             part.copies,
                             part.owner,
                             partial});
    at += part.count;
    room += part.room();
  }
  weight.most = inputs * room;
  bias.most = room;
  linear.params_.push_back(std::move(weight));
  linear.bias_here_ = !bias.pieces.empty();
  if (linear.bias_here_) linear.params_.push_back(std::move(bias));
  return linear;
}

Linear Linear::row(const std::string& label, WeightOrder order, const LinearPart& part,
                   std::int64_t outputs, const TensorShard& shard, float deviation) {
  Linear linear;
  linear.order_ = order;
  linear.inputs_ = part.count;
  linear.outputs_ = outputs;
  ParameterSpec weight{label + ".weight",
                       ordered(order, part.count, outputs),
                       {},
                       Initial::normal,
                       deviation,
                       false};
  weight.matrix = true;
  weight.pieces.push_back({part.weight, ordered(order, part.features, outputs),
                           ordered(order, part.offset + part.begin, 0),
                           ordered(order, part.count, outputs), ordered(order, 0, 0), 1, true,
                           false});
  weight.most = part.room() * outputs;
  linear.params_.push_back(std::move(weight));
  if (!part.bias.empty())
    linear.params_.push_back(replicated_parameter(label + ".bias", part.bias, {outputs}, shard,
                                                  shard.sequence_parallel, Initial::zero));
  return linear;
}

std::size_t Linear::scratch_bytes(const BatchShape& shape) const {
  const std::size_t bias = bias_here_ ? bias_backward_scratch_bytes(shape.rows, outputs_) : 0;
  if (!shape.fp8) return bias;
  return std::max({bias, fp8_matmul_scratch_bytes(shape.rows, outputs_, inputs_, shape.type),
                   fp8_matmul_scratch_bytes(shape.rows, inputs_, outputs_, shape.type),
                   fp8_matmul_scratch_bytes(inputs_, outputs_, shape.rows, shape.type)});
}

void Linear::forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
                     const Tensor& hidden) const {
  const Tensor w = order_ == WeightOrder::input_output ? weights[0] : weights[0].transposed();
  const Tensor bias = bias_here_ ? weights[1] : Tensor{};
  if (packed_rows(ctx) == nullptr)
    return multiply(ctx, y, x, w, {of_values, of_values}, {.bias = bias, .gelu_input = hidden});
  row_matmul(ctx.stream, hidden.empty() ? y : hidden, x, w, bias);
  if (!hidden.empty()) gelu_forward(ctx.stream, y, hidden);
}

void Linear::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                            const Tensor& dx, const GeluGradient& gelu) const {
  const Tensor& w = weights[0];
  multiply(ctx, dx, dy, order_ == WeightOrder::input_output ? w.transposed() : w,
           {of_gradients, of_values}, {.gelu_gradient = gelu});
}

// Tiles are rows of the weight as it is stored: outputs, or inputs.
void Linear::add_squares(const Context& ctx, const Tensor* weights, const LowRankSum& sum,
                         const Tensor& squares) const {
  const ArenaScope scope(ctx.scratch);
  const bool input_first = order_ == WeightOrder::input_output;
  const std::int64_t count = squares.elements();
  check(!input_first || count == outputs_, "norms of some outputs of {}", params_[0].label);
  const std::int64_t rows = input_first ? inputs_ : count, width = input_first ? count : inputs_;
  const std::int64_t side = tile_side(width, rows);
  const Tensor tile = ctx.scratch.take("weight tile", DType::f32, {side, width});
  for (std::int64_t at = 0; at < rows; at += side) {
    const std::int64_t n = std::min(side, rows - at);
    const Tensor part = tile.slice(0, 0, n);
    if (input_first)
      matmul(ctx.stream, part, sum.a.slice(1, at, n).transposed(), sum.b.transposed());
    else
      matmul(ctx.stream, part, sum.b.slice(0, at, n), sum.a);
    scale(ctx.stream, part, part, sum.factor);
    accumulate(ctx.stream, part, weights[0].slice(0, input_first ? at : sum.first + at, n));
    if (input_first)
      add_column_squares(ctx.stream, squares, part);
    else
      add_row_squares(ctx.stream, squares.slice(0, at, n), part);
  }
}

std::size_t Linear::squares_scratch_bytes() const {
  const bool input_first = order_ == WeightOrder::input_output;
  const std::int64_t rows = input_first ? inputs_ : outputs_,
                     width = input_first ? outputs_ : inputs_;
  return measure([&](Arena& arena) {
    arena.take("weight tile", DType::f32, {tile_side(width, rows), width});
  });
}

LinearMap::Operands LinearMap::take_operands(Arena& arena, const BatchShape& shape) const {
  const Tensor x = arena.take("weight gradient input", shape.type, {shape.rows, inputs()});
  return {x, arena.take("weight gradient output", shape.type, {shape.rows, outputs()})};
}

void Linear::backward_weight(const Context& ctx, const Gradient* gradients, const Tensor& x,
                             const Tensor& dy) const {
  if (gradients[0].data.empty()) {  // a frozen weight
    if (bias_here_ && !gradients[1].data.empty())
      bias_backward(ctx.stream, gradients[1].data, dy, gradients[1].accumulate, ctx.scratch);
    return;
  }
  if (ctx.operands != nullptr) {
    const Operands kept = take_operands(*ctx.operands, ctx.shape);
    copy_rows(ctx.stream, kept.x, x);
    return copy_rows(ctx.stream, kept.dy, dy);
  }
  const bool input_first = order_ == WeightOrder::input_output;
  MatmulOptions options{.accumulate = gradients[0].accumulate};
  if (bias_here_ && !gradients[1].data.empty())
    options.bias_gradient = {.sums = gradients[1].data,
                             .of = input_first ? BiasGradient::Of::b : BiasGradient::Of::a,
                             .accumulate = gradients[1].accumulate,
                             .scratch = &ctx.scratch};
  if (input_first)
    multiply(ctx, gradients[0].data, x.transposed(), dy, {of_values, of_gradients}, options);
  else
    multiply(ctx, gradients[0].data, dy.transposed(), x, {of_gradients, of_values}, options);
}

}  // namespace triax

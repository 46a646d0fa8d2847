#include "src/model/linear.hpp"

#include "kernels/elementwise.hpp"

namespace triax {
namespace {

// (rows, columns) in the order that the weight is stored.
Shape ordered(WeightOrder order, std::int64_t inputs, std::int64_t outputs) {
  return order == WeightOrder::input_output ? Shape{inputs, outputs} : Shape{outputs, inputs};
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
  ParameterSpec bias{label + ".bias", {linear.outputs_}, {}, Initial::zero, 0.0F, false};
  std::int64_t at = 0;
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
  }
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
  weight.pieces.push_back({part.weight, ordered(order, part.features, outputs),
                           ordered(order, part.offset + part.begin, 0),
                           ordered(order, part.count, outputs), ordered(order, 0, 0), 1, true,
                           false});
  linear.params_.push_back(std::move(weight));
  if (!part.bias.empty())
    linear.params_.push_back(replicated_parameter(label + ".bias", part.bias, {outputs}, shard,
                                                  shard.sequence_parallel, Initial::zero));
  return linear;
}

std::size_t Linear::scratch_bytes(std::int64_t rows) const {
  return bias_here_ ? bias_backward_scratch_bytes(rows, outputs_) : 0;
}

void Linear::forward(const Context& ctx, const Tensor* weights, const Tensor& x, const Tensor& y,
                     const Tensor& hidden) const {
  const Tensor& w = weights[0];
  matmul(ctx.stream, y, x, order_ == WeightOrder::input_output ? w : w.transposed(),
         {.bias = bias_here_ ? weights[1] : Tensor{}, .gelu_input = hidden});
}

void Linear::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                            const Tensor& dx, const GeluGradient& gelu) const {
  const Tensor& w = weights[0];
  matmul(ctx.stream, dx, dy, order_ == WeightOrder::input_output ? w.transposed() : w,
         {.gelu_gradient = gelu});
}

void Linear::backward_weight(const Context& ctx, const Gradient* gradients, const Tensor& x,
                             const Tensor& dy) const {
  const bool input_first = order_ == WeightOrder::input_output;
  MatmulOptions options{.accumulate = gradients[0].accumulate};
  if (bias_here_)
    options.bias_gradient = {.sums = gradients[1].data,
                             .of = input_first ? BiasGradient::Of::b : BiasGradient::Of::a,
                             .accumulate = gradients[1].accumulate,
                             .scratch = &ctx.scratch};
  matmul(ctx.stream, gradients[0].data, input_first ? x.transposed() : dy.transposed(),
         input_first ? dy : x, options);
}

}  // namespace triax

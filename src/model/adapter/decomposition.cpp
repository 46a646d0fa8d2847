// SPDX-License-Identifier: Apache-2.0
#include "src/model/adapter/decomposition.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/elementwise.hpp"
#include "kernels/norm/weight_norm.hpp"
#include "src/model/layer.hpp"

namespace triax {
namespace {

// The call of a step without dropout: masks are applied here.
Context without_dropout(const Context& ctx) {
  Context still = ctx;
  still.training = false;
  return still;
}

}  // namespace

Decomposition::Decomposition(std::shared_ptr<const LinearMap> base, std::vector<LowRank> adapters,
                             bool row_parallel)
    : base_(std::move(base)), adapters_(std::move(adapters)), row_parallel_(row_parallel) {
  for (const LowRank& adapter : adapters_) outputs_ += adapter.outputs();
}

Tensor Decomposition::take_norms(Arena& arena) const {
  return arena.take("norms of weights", DType::f32, {outputs_});
}

// MPI itself sums float64, whatever the size.
Messages Decomposition::messages(int tensor_size) const {
  Messages sum;
  if (!row_parallel_ || tensor_size == 1) return sum;
  for (const LowRank& adapter : adapters_) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(adapter.outputs()) * sizeof(double);
    Messages each = planned_all_reduce(tensor_size, bytes);
    each.scratch = bytes;
    each.part = 0;
    sum += each;
  }
  return sum;
}

std::size_t Decomposition::scratch_bytes(const BatchShape& shape) const {
  std::int64_t widest = 0;
  std::size_t inner = std::max(base_->scratch_bytes(shape), base_->squares_scratch_bytes());
  for (const LowRank& adapter : adapters_) {
    widest = std::max(widest, adapter.outputs());
    inner = std::max(inner, adapter.scratch_bytes(shape));
  }
  return inner + measure([&](Arena& arena) {
           for (const char* name : {"scaled gradient", "decomposed output"})
             arena.take(name, shape.type, {shape.rows, base_->outputs()});
           arena.take("magnitude factors", DType::f64, {widest});
           for (const char* name : {"adapter dropout", "dropped gradient"})
             arena.take(name, shape.type, {shape.rows, base_->inputs()});
         });
}

Decomposition::Module Decomposition::module(const Tensor* weights, const Tensor& norms,
                                            std::size_t adapter) const {
  const LowRank& of = adapters_[adapter];
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < adapter; ++i) begin += adapters_[i].outputs();
  const bool has_bias = !row_parallel_ && base_->has_bias();
  return {of, weights + at(adapter), norms.slice(0, begin, of.outputs()),
          has_bias ? weights[1].slice(0, of.first_output(), of.outputs()) : Tensor{}};
}

void Decomposition::measure_norms(const Context& ctx, const Tensor* weights,
                                  const Module& of) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor squares = ctx.scratch.take("squares of weights", DType::f64, {of.adapter.outputs()});
  fill_zero(ctx.stream, squares);
  base_->add_squares(ctx, weights,
                     {of.weights[0], of.weights[1], of.adapter.factor(), of.adapter.first_output()},
                     squares);
  if (row_parallel_) ctx.tensor.all_reduce(ctx.stream, squares).wait(ctx.stream);
  norms_of_squares(ctx.stream, of.norms, squares, ctx.shape.type);
}

Tensor Decomposition::factors(const Context& ctx, const Module& of, float less) const {
  const Tensor made = ctx.scratch.take("magnitude factors", DType::f32, {of.adapter.outputs()});
  magnitude_factors(ctx.stream, made, of.weights[2], of.norms, less);
  return made;
}

Tensor Decomposition::take_outputs(const Context& ctx) const {
  return ctx.scratch.take("decomposed output", ctx.shape.type, {ctx.shape.rows, base_->outputs()});
}

void Decomposition::forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                            const Tensor& y, const Tensor& norms) const {
  base_->forward(ctx, weights, x, y, {});
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    const Module of = module(weights, norms, i);
    measure_norms(ctx, weights, of);
    const ArenaScope scope(ctx.scratch);
    if (of.adapter.drops(ctx)) {
      add_dropped(ctx, weights, of, x, y);
      continue;
    }
    of.adapter.forward(ctx, of.weights, x, y);
    const Tensor own = of.adapter.own_outputs(y);
    scale_columns(ctx.stream, own, own, factors(ctx, of), of.bias);
  }
}

// y += m / n V d - W d. The bias is in both, so that y keeps its own.
void Decomposition::add_dropped(const Context& ctx, const Tensor* weights, const Module& of,
                                const Tensor& x, const Tensor& y) const {
  const Tensor d = of.adapter.dropped(ctx, x);
  const Tensor sum = take_outputs(ctx);
  base_->forward(ctx, weights, d, sum, {});
  const Tensor own = of.adapter.own_outputs(y), own_sum = of.adapter.own_outputs(sum);
  scale(ctx.stream, own_sum, own_sum, -1.0F);
  residual_forward(ctx.stream, own, own, own_sum, {});
  scale(ctx.stream, own_sum, own_sum, -1.0F);
  of.adapter.forward(without_dropout(ctx), of.weights, d, sum);
  scale_columns(ctx.stream, own_sum, own_sum, factors(ctx, of), of.bias);
  residual_forward(ctx.stream, own, own, own_sum, {});
}

void Decomposition::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                                   const Tensor& dx, const Tensor& norms) const {
  const ArenaScope scope(ctx.scratch);
  if (adapters_.front().drops(ctx)) {
    base_->backward_input(ctx, weights, dy, dx, {});
    for (std::size_t i = 0; i < adapters_.size(); ++i)
      add_dropped_input(ctx, weights, module(weights, norms, i), dy, dx);
    return;
  }
  const Tensor scaled = take_outputs(ctx);
  copy_rows(ctx.stream, scaled, dy);
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    const ArenaScope of_factors(ctx.scratch);
    const Module of = module(weights, norms, i);
    const Tensor own = of.adapter.own_outputs(scaled);
    scale_columns(ctx.stream, own, own, factors(ctx, of));
  }
  base_->backward_input(ctx, weights, scaled, dx, {});
  for (std::size_t i = 0; i < adapters_.size(); ++i)
    adapters_[i].backward_input(ctx, weights + at(i), scaled, dx);
}

// dx += the mask on W^T (m / n - 1) dy + scale A^T B^T m / n dy.
void Decomposition::add_dropped_input(const Context& ctx, const Tensor* weights, const Module& of,
                                      const Tensor& dy, const Tensor& dx) const {
  const ArenaScope scope(ctx.scratch);
  const Tensor scaled = take_outputs(ctx);
  const Tensor added =
      ctx.scratch.take("dropped gradient", ctx.shape.type, {ctx.shape.rows, base_->inputs()});
  const Tensor own = of.adapter.own_outputs(scaled), own_dy = of.adapter.own_outputs(dy);
  const auto scale_by = [&](float less) {
    const ArenaScope of_factors(ctx.scratch);
    scale_columns(ctx.stream, own, own_dy, factors(ctx, of, less));
  };
  fill_zero(ctx.stream, scaled);
  scale_by(1.0F);
  base_->backward_input(ctx, weights, scaled, added, {});
  scale_by(0.0F);
  of.adapter.backward_input(without_dropout(ctx), of.weights, scaled, added);
  of.adapter.drop(ctx, added, added);
  accumulate(ctx.stream, dx, added);
}

// The outputs of V are computed again: the forward pass keeps none.
void Decomposition::backward_weight(const Context& ctx, const Tensor* weights,
                                    const Gradient* gradients, const Tensor& x, const Tensor& dy,
                                    const Tensor& norms) const {
  const ArenaScope scope(ctx.scratch);
  const Context still = without_dropout(ctx);
  const bool drops = adapters_.front().drops(ctx);
  const Tensor scaled = take_outputs(ctx), sum = take_outputs(ctx);
  if (!drops) base_->forward(ctx, weights, x, sum, {});
  for (std::size_t i = 0; i < adapters_.size(); ++i) {
    const ArenaScope of_module(ctx.scratch);
    const Module of = module(weights, norms, i);
    const Gradient* own = gradients + at(i);
    const Tensor d = of.adapter.dropped(ctx, x);
    const Tensor own_dy = of.adapter.own_outputs(dy);
    scale_columns(ctx.stream, of.adapter.own_outputs(scaled), own_dy, factors(ctx, of));
    of.adapter.backward_weight(still, of.weights, own, d, scaled);
    if (own[2].data.empty()) continue;
    if (drops) base_->forward(ctx, weights, d, sum, {});
    of.adapter.forward(still, of.weights, d, sum);
    magnitude_backward(ctx.stream, own[2].data, own_dy, of.adapter.own_outputs(sum), of.bias,
                       of.norms, own[2].accumulate);
  }
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/model/adapter/adapted_linear.hpp"

#include <algorithm>
#include <utility>

#include "kernels/activation/gelu.hpp"

namespace triax {
namespace {

AdaptedLinear adapted(const LoraConfig& lora, std::shared_ptr<const LinearMap> map,
                      std::vector<LowRank> adapters, bool row_parallel) {
  std::shared_ptr<const Decomposition> decomposition;
  if (lora.dora && !adapters.empty())
    decomposition = std::make_shared<Decomposition>(map, adapters, row_parallel);
  return AdaptedLinear(std::move(map), std::move(adapters), std::move(decomposition));
}

}  // namespace

AdaptedLinear::AdaptedLinear(std::shared_ptr<const LinearMap> base, std::vector<LowRank> adapters,
                             std::shared_ptr<const Decomposition> decomposition)
    : base_(std::move(base)),
      adapters_(std::move(adapters)),
      decomposition_(std::move(decomposition)),
      params_(base_->params()) {
  for (const LowRank& adapter : adapters_)
    params_.insert(params_.end(), adapter.params().begin(), adapter.params().end());
}

Tensor AdaptedLinear::carve_norms(Arena& frame) const {
  return decomposition_ ? decomposition_->take_norms(frame) : Tensor{};
}

Messages AdaptedLinear::norm_messages(const TensorShard& shard) const {
  return decomposition_ ? decomposition_->messages(shard.size) : Messages{};
}

std::size_t AdaptedLinear::scratch_bytes(const BatchShape& shape) const {
  if (decomposition_) return decomposition_->scratch_bytes(shape);
  std::size_t most = base_->scratch_bytes(shape);
  for (const LowRank& adapter : adapters_) most = std::max(most, adapter.scratch_bytes(shape));
  return most;
}

void AdaptedLinear::forward(const Context& ctx, const Tensor* weights, const Tensor& x,
                            const Tensor& y, const Tensor& hidden, const Tensor& norms) const {
  if (adapters_.empty()) return base_->forward(ctx, weights, x, y, hidden);
  const Tensor& sum = hidden.empty() ? y : hidden;
  if (decomposition_) {
    decomposition_->forward(ctx, weights, x, sum, norms);
  } else {
    base_->forward(ctx, weights, x, sum, {});
    for (std::size_t i = 0; i < adapters_.size(); ++i)
      adapters_[i].forward(ctx, weights + at(i), x, sum);
  }
  if (!hidden.empty()) gelu_forward(ctx.stream, y, hidden);
}

void AdaptedLinear::backward_input(const Context& ctx, const Tensor* weights, const Tensor& dy,
                                   const Tensor& dx, const GeluGradient& gelu,
                                   const Tensor& norms) const {
  if (adapters_.empty()) return base_->backward_input(ctx, weights, dy, dx, gelu);
  if (decomposition_) {
    decomposition_->backward_input(ctx, weights, dy, dx, norms);
  } else {
    base_->backward_input(ctx, weights, dy, dx, {});
    for (std::size_t i = 0; i < adapters_.size(); ++i)
      adapters_[i].backward_input(ctx, weights + at(i), dy, dx);
  }
  if (!gelu.input.empty()) gelu_backward(ctx.stream, dx, gelu.output, dx, gelu.input);
}

void AdaptedLinear::backward_weight(const Context& ctx, const Tensor* weights,
                                    const Gradient* gradients, const Tensor& x, const Tensor& dy,
                                    const Tensor& norms) const {
  if (decomposition_) return decomposition_->backward_weight(ctx, weights, gradients, x, dy, norms);
  base_->backward_weight(ctx, gradients, x, dy);
  for (std::size_t i = 0; i < adapters_.size(); ++i)
    adapters_[i].backward_weight(ctx, weights + at(i), gradients + at(i), x, dy);
}

ComingRows AdaptedLinear::backward_between_messages(const Context& ctx, const Tensor* weights,
                                                    const Gradient* gradients, ComingRows x,
                                                    const Tensor& dy, const Tensor& dx,
                                                    const Tensor& local,
                                                    const Tensor& norms) const {
  backward_input(ctx, weights, dy, dx, {}, norms);
  ComingRows sum = reduce_rows(ctx, dx, local);
  backward_weight(ctx, weights, gradients, x.wait(ctx), dy, norms);
  return sum;
}

AdaptedLinear adapt_column(const LoraConfig& lora, const std::string& label,
                           std::shared_ptr<const LinearMap> map,
                           const std::vector<LinearPart>& parts, const TensorShard& shard) {
  std::vector<LowRank> adapters;
  std::int64_t at = 0;
  for (auto part = parts.begin(); part != parts.end();) {
    const auto end = std::find_if(
        part, parts.end(), [&](const LinearPart& other) { return other.weight != part->weight; });
    const std::vector<LinearPart> own(part, end);
    const std::string module = module_of(part->weight);
    if (lora.modules.contains(module))
      adapters.push_back(LowRank::column(lora, label + '.' + module.substr(module.rfind('.') + 1),
                                         map->inputs(), own, at, shard));
    for (const LinearPart& each : own) at += each.count;
    part = end;
  }
  return adapted(lora, std::move(map), std::move(adapters), /*row_parallel=*/false);
}

AdaptedLinear adapt_row(const LoraConfig& lora, const std::string& label,
                        std::shared_ptr<const LinearMap> map, const LinearPart& part,
                        const TensorShard& shard) {
  std::vector<LowRank> adapters;
  if (lora.modules.contains(module_of(part.weight)))
    adapters.push_back(LowRank::row(lora, label, part, map->outputs(), shard));
  return adapted(lora, std::move(map), std::move(adapters), /*row_parallel=*/true);
}

}  // namespace triax

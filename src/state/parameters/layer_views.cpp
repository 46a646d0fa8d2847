// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameters/layer_views.hpp"

namespace triax {
namespace {

// A parameter as a view of its whole bucket; empty if `flat` is.
Tensor view(const Tensor& flat, const PlacedParameter& param) {
  if (flat.empty()) return {};
  const FlatRange range = param.range();
  return flat.slice(0, range.begin, range.count()).reshape(param.spec.shape);
}

}  // namespace

LayerViews::LayerViews(const Stage& stage, const std::vector<ParameterBlock>& blocks)
    : blocks_(blocks), first_microbatch_(blocks.size(), 0) {
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& layers = layers_.emplace_back();
    auto& block_of = block_of_.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer) {
      const std::size_t count = stage.layer(chunk, layer).params().size();
      layers.push_back({std::vector<Tensor>(count), std::vector<Gradient>(count)});
      block_of.emplace_back(count);
    }
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (const PlacedParameter& param : blocks_[b].params)
      for (const ParameterUse& use : param.uses)
        block_of_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)]
                 [use.index] = static_cast<int>(b);
}

void LayerViews::show_weights(int block, const Tensor& weights) {
  for (const PlacedParameter& param : blocks_[static_cast<std::size_t>(block)].params)
    for (const ParameterUse& use : param.uses) of(use).weights[use.index] = view(weights, param);
}

void LayerViews::show_gradient(int block, const Tensor& gradient, int first_microbatch) {
  first_microbatch_[static_cast<std::size_t>(block)] = first_microbatch;
  for (const PlacedParameter& param : blocks_[static_cast<std::size_t>(block)].params)
    for (const ParameterUse& use : param.uses)
      of(use).gradients[use.index].data = view(gradient, param);
}

const LayerParameters& LayerViews::layer(int chunk, int index, int microbatch) {
  const auto c = static_cast<std::size_t>(chunk);
  const auto l = static_cast<std::size_t>(index);
  LayerParameters& params = layers_[c][l];
  for (std::size_t i = 0; i < params.gradients.size(); ++i)
    params.gradients[i].accumulate =
        microbatch != first_microbatch_[static_cast<std::size_t>(block_of_[c][l][i])];
  return params;
}

}  // namespace triax

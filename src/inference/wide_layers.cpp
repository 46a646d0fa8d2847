// SPDX-License-Identifier: Apache-2.0
#include "src/inference/wide_layers.hpp"

#include "kernels/activation/elementwise.hpp"

namespace triax {
namespace {

// Whether a product or a table reads the parameter in the type of the store.
bool is_matrix(const ParameterSpec& spec) {
  return spec.packed || (spec.shape.rank() >= 2 && !spec.adapter);
}

bool is_wide(const ParameterSpec& spec, const Tensor& weight) {
  return spec.packed || weight.dtype() == DType::f32;
}

// The next tensor of `arena`, with the values of `weight`.
Tensor widened(Arena& arena, const Tensor& weight) {
  const Tensor wide = arena.take("weight in float32", DType::f32, weight.shape());
  convert(Stream(), wide, weight);
  return wide;
}

}  // namespace

WideLayers::WideLayers(const Stage& stage, ParameterStore& store) : stage_(stage) {
  for (int l = 0; l < stage.layers(0); ++l) held_.push_back(store.layer(0, l, 0));
  const auto each_small = [&](const auto& use) {
    for (int l = 0; l < stage.layers(0); ++l) {
      const std::vector<ParameterSpec>& specs = stage.layer(0, l).params();
      std::vector<Tensor>& weights = held_[static_cast<std::size_t>(l)].weights;
      for (std::size_t i = 0; i < specs.size(); ++i)
        if (!is_matrix(specs[i]) && !is_wide(specs[i], weights[i])) use(weights[i]);
    }
  };
  Arena sizes;
  each_small([&](const Tensor& weight) { sizes.take("", DType::f32, weight.shape()); });
  small_ = Buffer(sizes.high_water());
  Arena arena(small_);
  each_small([&](Tensor& weight) { weight = widened(arena, weight); });
}

const LayerParameters& WideLayers::wide(int layer) {
  const bool table = layer == 0 && stage_.has_embedding();
  if (table || layer == wide_layer_) return table ? held(layer) : wide_;
  const std::vector<ParameterSpec>& specs = stage_.layer(0, layer).params();
  const LayerParameters& from = held(layer);
  Arena sizes;
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!is_wide(specs[i], from.weights[i])) sizes.take("", DType::f32, from.weights[i].shape());
  if (sizes.high_water() == 0) return from;
  if (sizes.high_water() > matrices_.bytes()) {
    matrices_ = Buffer();  // the old memory first, so that both are never there together
    matrices_ = Buffer::unwritten(sizes.high_water());
  }
  wide_ = from;
  wide_layer_ = layer;
  Arena arena(matrices_);
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (!is_wide(specs[i], from.weights[i])) wide_.weights[i] = widened(arena, from.weights[i]);
  return wide_;
}

}  // namespace triax

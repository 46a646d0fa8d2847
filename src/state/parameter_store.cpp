#include "src/state/parameter_store.hpp"

namespace triax {

ParameterStore::ParameterStore(const Stage& stage, ProcessGrid& grid, bool shard_optimizer)
    : grid_(grid),
      shard_optimizer_(shard_optimizer),
      blocks_(lay_out_blocks(stage, {grid.shape().data, grid.data_rank(), shard_optimizer})),
      requests_(blocks_.size()) {
  allocate();
  make_views(stage);
}

void ParameterStore::allocate() {
  std::int64_t total = 0;
  for (const ParameterBlock& block : blocks_) total += block.elements;
  const auto bytes = static_cast<std::size_t>(total) * sizeof(float);
  weight_memory_ = Buffer(bytes);
  gradient_memory_ = Buffer(bytes);
  const Tensor weights = weight_memory_.tensor(DType::f32, {total});
  const Tensor gradients = gradient_memory_.tensor(DType::f32, {total});
  std::int64_t at = 0;
  for (const ParameterBlock& block : blocks_) {
    weights_.push_back(weights.slice(0, at, block.elements));
    gradients_.push_back(gradients.slice(0, at, block.elements));
    at += block.elements;
  }
}

void ParameterStore::make_views(const Stage& stage) {
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& layers = layers_.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer) {
      const std::size_t count = stage.layer(chunk, layer).params().size();
      layers.push_back({std::vector<Tensor>(count), std::vector<Tensor>(count)});
    }
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    for (const PlacedParameter& param : blocks_[b].params)
      for (const ParameterUse& use : param.uses) {
        LayerParameters& views =
            layers_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)];
        const FlatRange range{param.offset, param.offset + param.spec.shape.elements()};
        views.weights[use.index] = part(weights_[b], range).reshape(param.spec.shape);
        views.gradients[use.index] = part(gradients_[b], range).reshape(param.spec.shape);
      }
}

void ParameterStore::sum_over_tensor(const Stream& stream, int index) {
  for (const PartialRange& partial : block(index).partial)
    grid_.tensor_part(partial.parts)
        .all_reduce(stream, part(gradients(index), partial.range))
        .wait(stream);
}

void ParameterStore::start_reduce(const Stream& stream, int index) {
  const Tensor& all = gradients(index);
  request(index) = shard_optimizer_
                       ? grid_.data().reduce_scatter(stream, part(all, block(index).own), all)
                       : grid_.data().all_reduce(stream, all);
}

void ParameterStore::sum_tied(const Stream& stream, int index) {
  grid_.embedding().all_reduce(stream, part(gradients(index), block(index).stepped)).wait(stream);
}

void ParameterStore::start_gather(const Stream& stream, int index) {
  request(index) =
      grid_.data().all_gather(stream, weights(index), part(weights(index), block(index).own));
}

void ParameterStore::progress() {
  for (Request& request : requests_)
    if (request.pending()) request.test();
}

}  // namespace triax

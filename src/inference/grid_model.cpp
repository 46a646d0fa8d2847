// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid_model.hpp"

#include <algorithm>

namespace triax {
namespace {

constexpr int activation_tag = 0;

ModelConfig frozen(ModelConfig model, const HeldWeights& held) {
  model.trainability = {.freeze = {"*"}};  // no gradient takes memory
  model.kept = {held.maps, static_cast<int>(size_of(held.type))};
  return model;
}

// Sequences are short beside those of training: rows are not cut over the tensor axis.
StagePlace place_on(const ProcessGrid& grid) {
  return {.stages = grid.shape().pipeline,
          .stage = grid.pipeline_rank(),
          .tensor = {.size = grid.shape().tensor, .rank = grid.tensor_rank()}};
}

StateOptions state_on(const ProcessGrid& grid, DType type) {
  return {.shard = {.size = grid.shape().data, .rank = grid.data_rank()},
          .type = type,
          .space = grid.space()};
}

// The model, if it can be computed where the grid computes.
const ModelConfig& checked(const ModelConfig& model, const ProcessGrid& grid) {
  if (model.lora.dora && grid.space() == MemorySpace::device)
    throw UsageError("the adapters have magnitudes (use_dora)",
                     "their norms are computed on CPUs alone",
                     "Set --device cpu, or export the model first (triax checkpoint export FILE "
                     "--to huggingface DIR)");
  return model;
}

// The loaded weights of `store`.
ParameterStore& loaded(const Stream& stream, const ModelConfig& model, ParameterStore& store,
                       const GridModel::Load& load) {
  load(stream, model, store);
  return store;
}

}  // namespace

GridModel::GridModel(const ModelConfig& model, ProcessGrid& grid, std::int64_t context,
                     const Load& load, const HeldWeights& held)
    : model_(frozen(checked(model, grid), held)),
      context_(context),
      grid_(grid),
      stream_(grid.space()),
      stage_(model_, place_on(grid), context, {}, StageUse::run, grid.space()),
      store_(stage_, grid, state_on(grid, held.type)),
      layers_(stage_, loaded(stream_, model_, store_, load)) {}

BatchShape GridModel::shape(std::int64_t batch, std::int64_t length) const {
  return batch_shape(batch, length, stage_.place().tensor, DType::f32, DType::f32, grid_.space());
}

void GridModel::receive(const Tensor& x) {
  if (stage_.has_embedding()) return;
  grid_.pipeline().receive(stream_, x, grid_.pipeline_rank() - 1, activation_tag).wait(stream_);
}

void GridModel::send(const Tensor& y) {
  if (stage_.has_head()) return;
  grid_.pipeline().send(stream_, y, grid_.pipeline_rank() + 1, activation_tag).wait(stream_);
}

ForwardSpace::ForwardSpace(Arena& arena, const GridModel& model, const BatchShape& shape)
    : in(arena.take("input", DType::f32, {shape.local_rows, model.model().hidden})),
      out(arena.take("output", DType::f32, {shape.local_rows, model.model().hidden})) {
  std::size_t bytes = 0;
  for (int layer = 0; layer < model.stage().layers(0); ++layer)
    bytes = std::max(bytes, model.stage().layer(0, layer).frame_bytes(shape));
  frame = arena.take("frame", DType::u8, {static_cast<std::int64_t>(bytes)});
}

std::size_t ForwardSpace::bytes(const GridModel& model, const BatchShape& shape) {
  return measure([&](Arena& arena) { ForwardSpace(arena, model, shape); }) +
         model.stage().scratch_bytes(shape);
}

}  // namespace triax

#include "src/state/parameter_store.hpp"

#include <algorithm>

#include "kernels/elementwise.hpp"

namespace triax {
namespace {

Tensor part(const Tensor& flat, const FlatRange& range) {
  return flat.slice(0, range.begin, range.count());
}

// Elements of the ranges of all blocks.
std::int64_t elements_of(const std::vector<ParameterBlock>& blocks,
                         FlatRange ParameterBlock::*range) {
  std::int64_t total = 0;
  for (const ParameterBlock& block : blocks) total += (block.*range).count();
  return total;
}

// Bytes of a whole block of a pool.
std::size_t whole_bytes(const std::vector<ParameterBlock>& blocks, const WholeBuffers& whole,
                        std::size_t pool, DType type) {
  std::int64_t elements = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (whole.pool[b] == static_cast<int>(pool)) elements = blocks[b].elements;
  return static_cast<std::size_t>(elements) * size_of(type);
}

// Carves the ranges of all blocks out of one allocation.
Buffer carve(const std::vector<ParameterBlock>& blocks, DType type,
             FlatRange ParameterBlock::*range, const auto& take) {
  const std::int64_t total = elements_of(blocks, range);
  Buffer memory(static_cast<std::size_t>(total) * size_of(type));
  const Tensor flat = memory.tensor(type, {total});
  std::int64_t at = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const FlatRange& kept = blocks[b].*range;
    take(b, BlockView{flat.slice(0, at, kept.count()), kept});
    at += kept.count();
  }
  return memory;
}

}  // namespace

StateBytes state_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole) {
  const auto kept = [&](FlatRange ParameterBlock::*range, DType type) {
    return elements_of(blocks, range) * static_cast<std::int64_t>(size_of(type));
  };
  const auto pools = [&](const std::vector<int>& counts, DType type) {
    std::int64_t bytes = 0;
    for (std::size_t pool = 0; pool < counts.size(); ++pool)
      bytes += BufferPool::bytes_of(whole_bytes(blocks, whole, pool, type), counts[pool]);
    return bytes;
  };
  StateBytes bytes{kept(&ParameterBlock::parameters, options.type),
                   kept(&ParameterBlock::gradients, options.gradient_type)};
  if (options.zero_stage < 2) return bytes;
  bytes.whole_gradients = pools(whole.gradients, options.gradient_type);
  bytes.gathered = pools(whole.gathered, options.type);
  return bytes;
}

ParameterStore::ParameterStore(const Stage& stage, ProcessGrid& grid, const StateOptions& options,
                               const WholeBuffers& whole)
    : grid_(grid),
      options_(options),
      blocks_(lay_out_blocks(stage, {grid.shape().data, grid.data_rank(), options.zero_stage,
                                     options.persistence_threshold})),
      states_(blocks_.size()) {
  weight_memory_ = carve(blocks_, options.type, &ParameterBlock::parameters,
                         [&](std::size_t b, const BlockView& view) { states_[b].weights = view; });
  gradient_memory_ =
      carve(blocks_, options.gradient_type, &ParameterBlock::gradients,
            [&](std::size_t b, const BlockView& view) { states_[b].gradients = view; });
  if (windows()) make_pools(whole);
  make_views(stage);
}

void ParameterStore::make_pools(const WholeBuffers& whole) {
  check(whole.pool.size() == blocks_.size(), "{} pools for {} blocks", whole.pool.size(),
        blocks_.size());
  const auto make = [&](const std::vector<int>& counts, DType type, const char* name) {
    std::vector<BufferPool> pools;
    for (std::size_t pool = 0; pool < counts.size(); ++pool)
      pools.emplace_back(name, whole_bytes(blocks_, whole, pool, type), counts[pool]);
    return pools;
  };
  gradient_pools_ = make(whole.gradients, options_.gradient_type, "whole gradients");
  gathered_pools_ = make(whole.gathered, options_.type, "gathered parameters");
  for (std::size_t b = 0; b < blocks_.size(); ++b) states_[b].pool = whole.pool[b];
}

void ParameterStore::make_views(const Stage& stage) {
  for (int chunk = 0; chunk < stage.chunks(); ++chunk) {
    auto& layers = layers_.emplace_back();
    auto& blocks = block_of_.emplace_back();
    for (int layer = 0; layer < stage.layers(chunk); ++layer) {
      const std::size_t count = stage.layer(chunk, layer).params().size();
      layers.push_back({std::vector<Tensor>(count), std::vector<Gradient>(count)});
      blocks.emplace_back(count, none);
    }
  }
  for (int b = 0; b < std::ssize(blocks_); ++b) {
    for (const PlacedParameter& param : block(b).params)
      for (const ParameterUse& use : param.uses)
        block_of_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)]
                 [use.index] = b;
    if (!block(b).sharded) show_weights(b, weights(b).data);
    if (!windows()) show_gradient(b, gradients(b).data);
  }
}

void ParameterStore::show_weights(int index, const Tensor& weights) {
  for (const PlacedParameter& param : block(index).params)
    for (const ParameterUse& use : param.uses)
      layers_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)]
          .weights[use.index] =
          weights.empty() ? Tensor{} : part(weights, param.range()).reshape(param.spec.shape);
}

void ParameterStore::show_gradient(int index, const Tensor& gradient) {
  for (const PlacedParameter& param : block(index).params)
    for (const ParameterUse& use : param.uses)
      layers_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)]
          .gradients[use.index]
          .data =
          gradient.empty() ? Tensor{} : part(gradient, param.range()).reshape(param.spec.shape);
}

const LayerParameters& ParameterStore::layer(int chunk, int index, int microbatch) {
  const auto c = static_cast<std::size_t>(chunk);
  const auto l = static_cast<std::size_t>(index);
  LayerParameters& params = layers_[c][l];
  for (std::size_t i = 0; i < params.gradients.size(); ++i)
    params.gradients[i].accumulate = microbatch != of(block_of_[c][l][i]).first_microbatch;
  return params;
}

StateBytes ParameterStore::bytes() const {
  StateBytes bytes;
  bytes.parameters = static_cast<std::int64_t>(weight_memory_.bytes());
  bytes.gradients = static_cast<std::int64_t>(gradient_memory_.bytes());
  for (const BufferPool& pool : gradient_pools_) bytes.whole_gradients += pool.bytes();
  for (const BufferPool& pool : gathered_pools_) bytes.gathered += pool.bytes();
  return bytes;
}

Tensor ParameterStore::whole_gradient(int index) const {
  const State& state = of(index);
  if (!windows()) return state.gradients.data;
  check(state.gradient_slot != none, "the gradient of {} is not whole", block(index).name);
  return gradient_pools_[static_cast<std::size_t>(state.pool)].at(
      state.gradient_slot, options_.gradient_type, {block(index).elements});
}

Tensor ParameterStore::whole_weights(int index) const {
  const State& state = of(index);
  if (!block(index).sharded) return state.weights.data;
  check(state.gathered_slot != none, "the parameters of {} are not gathered", block(index).name);
  return gathered_pools_[static_cast<std::size_t>(state.pool)].at(
      state.gathered_slot, options_.type, {block(index).elements});
}

void ParameterStore::open_gradient(int index, int microbatch) {
  State& state = of(index);
  state.gradient_slot = gradient_pools_[static_cast<std::size_t>(state.pool)].acquire();
  state.first_microbatch = microbatch;
  show_gradient(index, whole_gradient(index));
}

void ParameterStore::sum_over_tensor(const Stream& stream, int index) {
  const BlockView& kept = gradients(index);
  for (const PartialRange& partial : block(index).partial)
    if (const FlatRange here = intersect(partial.range, kept.range); here.count() > 0)
      grid_.tensor_part(partial.parts).all_reduce(stream, kept.at(here)).wait(stream);
}

void ParameterStore::start_reduce(const Stream& stream, int index) {
  State& state = of(index);
  const Tensor whole = whole_gradient(index);
  if (options_.zero_stage == 0) {
    state.reduce = grid_.data().all_reduce(stream, whole);
    return;
  }
  // The first of a step goes where it is kept; what follows is added there when it has arrived.
  const Tensor to =
      windows() && !state.summed ? state.gradients.data : part(whole, block(index).own);
  state.reduce = grid_.data().reduce_scatter(stream, to, whole);
}

void ParameterStore::wait_reduce(const Stream& stream, int index) {
  State& state = of(index);
  state.reduce.wait(stream);
  if (!windows()) return;
  if (state.summed)
    accumulate(stream, state.gradients.data, part(whole_gradient(index), block(index).own));
  state.summed = true;
  show_gradient(index, {});
  gradient_pools_[static_cast<std::size_t>(state.pool)].release(
      std::exchange(state.gradient_slot, none));
}

void ParameterStore::sum_tied(const Stream& stream, int index) {
  grid_.embedding().all_reduce(stream, gradients(index).at(block(index).stepped)).wait(stream);
}

void ParameterStore::end_gradients() {
  for (State& state : states_) state.summed = false;
}

void ParameterStore::start_gather(const Stream& stream, int index) {
  State& state = of(index);
  if (block(index).sharded) {
    state.gathered_slot = gathered_pools_[static_cast<std::size_t>(state.pool)].acquire();
    show_weights(index, whole_weights(index));
  }
  state.gather =
      grid_.data().all_gather(stream, whole_weights(index), weights(index).at(block(index).own));
}

void ParameterStore::release(int index) {
  State& state = of(index);
  show_weights(index, {});
  gathered_pools_[static_cast<std::size_t>(state.pool)].release(
      std::exchange(state.gathered_slot, none));
}

void ParameterStore::progress() {
  for (State& state : states_) {
    if (state.reduce.pending()) state.reduce.test();
    if (state.gather.pending()) state.gather.test();
  }
}

}  // namespace triax

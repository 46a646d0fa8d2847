// SPDX-License-Identifier: Apache-2.0
#include "src/state/parameters/parameter_store.hpp"

#include <algorithm>

#include "kernels/activation/elementwise.hpp"

namespace triax {
namespace {

// This rank's shard of a whole bucket.
Tensor own_part(const Tensor& whole, const ParameterBlock& block) {
  return whole.slice(0, block.own.begin, block.own.count());
}

// The parameters of a bucket that stay in compute memory.
FlatRange kept_parameters(const ParameterBlock& block) {
  return block.stored() ? FlatRange{} : block.parameters;
}

FlatRange kept_gradients(const ParameterBlock& block) {
  return block.gradients;
}

// Total elements of range(block) over all buckets.
std::int64_t elements_of(const std::vector<ParameterBlock>& blocks, const auto& range) {
  std::int64_t total = 0;
  for (const ParameterBlock& block : blocks) total += range(block).count();
  return total;
}

// Bytes of a whole bucket of a pool.
std::size_t whole_bytes(const std::vector<ParameterBlock>& blocks, const WholeBuffers& whole,
                        std::size_t pool, DType type) {
  std::int64_t elements = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    if (whole.pool[b] == static_cast<int>(pool)) elements = blocks[b].elements;
  return static_cast<std::size_t>(elements) * size_of(type);
}

// Allocates range(block) of all buckets as one piece of memory, region `part` of `source`.
Memory carve(const std::vector<ParameterBlock>& blocks, DType type, const MemorySource& source,
             const char* part, const auto& range, const auto& take) {
  const std::int64_t total = elements_of(blocks, range);
  Memory memory = source.take(part, static_cast<std::size_t>(total) * size_of(type));
  const Tensor flat = memory.tensor(type, {total});
  std::int64_t at = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const FlatRange kept = range(blocks[b]);
    take(b, BlockView{flat.slice(0, at, kept.count()), kept});
    at += kept.count();
  }
  return memory;
}

}  // namespace

StateBytes state_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole) {
  const auto kept = [&](const auto& range, DType type) {
    return elements_of(blocks, range) * static_cast<std::int64_t>(size_of(type));
  };
  const auto pools = [&](const std::vector<int>& counts, DType type) {
    std::int64_t bytes = 0;
    for (std::size_t pool = 0; pool < counts.size(); ++pool)
      bytes += BufferPool::bytes_of(whole_bytes(blocks, whole, pool, type), counts[pool]);
    return bytes;
  };
  StateBytes bytes{kept(kept_parameters, options.type),
                   kept(kept_gradients, options.gradient_type)};
  if (options.shard.zero_stage < 2) return bytes;
  bytes.whole_gradients = pools(whole.gradients, options.gradient_type);
  bytes.gathered = pools(whole.gathered, options.type);
  if (!options.shard.offload.parameters) return bytes;
  bytes.stored = shard_bytes(blocks, options, whole);
  return bytes;
}

ParameterStore::ParameterStore(const Stage& stage, ProcessGrid& grid, const StateOptions& options,
                               const WholeBuffers& whole)
    : grid_(grid),
      options_(options),
      shard_group_(grid.part(Axis::data, options.shard.groups)),
      blocks_(lay_out_blocks(stage, options.shard)),
      states_(blocks_.size()),
      layers_(stage, blocks_) {
  check(shard_group_.size() == options.shard.size && shard_group_.rank() == options.shard.rank,
        "shard {} of {} on rank {} of {}", options.shard.rank, options.shard.size,
        shard_group_.rank(), shard_group_.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    states_[b].gathers.resize(static_cast<std::size_t>(gathers_of(blocks_[b])));
  if (options.shard.groups > 1)
    grid.across(Axis::data, options.shard.groups);  // all ranks make the group here
  weight_memory_ = carve(blocks_, options.type, options.memory(), "parameters", kept_parameters,
                         [&](std::size_t b, const BlockView& view) { states_[b].weights = view; });
  gradient_memory_ =
      carve(blocks_, options.gradient_type, options.memory(), "gradients", kept_gradients,
            [&](std::size_t b, const BlockView& view) { states_[b].gradients = view; });
  if (options.shard.zero_stage >= 2) make_pools(whole);
  if (options.shard.offload.parameters)
    stored_ = std::make_unique<StoredShards>(blocks_, options_, whole, wait());
  show_kept();
}

void ParameterStore::make_pools(const WholeBuffers& whole) {
  check(whole.pool.size() == blocks_.size(), "{} pools for {} blocks", whole.pool.size(),
        blocks_.size());
  const auto make = [&](const std::vector<int>& counts, DType type, const char* name) {
    std::vector<BufferPool> pools;
    for (std::size_t pool = 0; pool < counts.size(); ++pool)
      pools.emplace_back(name, whole_bytes(blocks_, whole, pool, type), counts[pool],
                         options_.memory());
    return pools;
  };
  gradient_pools_ = make(whole.gradients, options_.gradient_type, "whole gradients");
  gathered_pools_ = make(whole.gathered, options_.type, "gathered parameters");
  for (std::size_t b = 0; b < blocks_.size(); ++b) states_[b].pool = whole.pool[b];
}

BlockView ParameterStore::stepped_weights(int index) {
  const ParameterBlock& is = block(index);
  if (!is.stored() || !is.host_state) return weights(index);
  return {stored_->of(index).on_host(), is.parameters};
}

void ParameterStore::wait_load(const Stream& stream, int index) {
  of(index).weights = {stored_->of(index).wait_load(stream), block(index).parameters};
}

void ParameterStore::unload(const Stream& stream, int index) {
  of(index).weights = {};
  stored_->of(index).unload(stream);
}

void ParameterStore::start_save(const Stream& stream, int index) {
  of(index).weights = {};
  stored_->of(index).start_save(stream, block(index).host_state);
}

void ParameterStore::show_kept() {
  for (int b = 0; b < std::ssize(blocks_); ++b) {
    if (!block(b).sharded()) layers_.show_weights(b, weights(b).data);
    if (!windows()) layers_.show_gradient(b, gradients(b).data);
  }
}

StateBytes ParameterStore::bytes() const {
  StateBytes bytes;
  bytes.parameters = static_cast<std::int64_t>(weight_memory_.bytes());
  bytes.gradients = static_cast<std::int64_t>(gradient_memory_.bytes());
  for (const BufferPool& pool : gradient_pools_) bytes.whole_gradients += pool.bytes();
  for (const BufferPool& pool : gathered_pools_) bytes.gathered += pool.bytes();
  if (stored_) bytes.stored = stored_->bytes();
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
  if (!block(index).sharded()) return state.weights.data;
  check(state.gathered_slot != none, "the parameters of {} are not gathered", block(index).name);
  return gathered_pools_[static_cast<std::size_t>(state.pool)].at(
      state.gathered_slot, options_.type, {block(index).elements});
}

void ParameterStore::open_gradient(int index, int microbatch) {
  State& state = of(index);
  state.gradient_slot = gradient_pools_[static_cast<std::size_t>(state.pool)].acquire();
  layers_.show_gradient(index, whole_gradient(index), microbatch);
}

void ParameterStore::sum_over_replicas(const Stream& stream, int index) {
  grid_.across(Axis::data, options_.shard.groups)
      .all_reduce(stream, gradients(index).at(block(index).own))
      .wait(stream);
}

void ParameterStore::make_groups() {
  for (const ParameterBlock& block : blocks_)
    for (const PartialRange& partial : block.partial) grid_.part(Axis::tensor, partial.parts);
}

void ParameterStore::sum_over_tensor(const Stream& stream, int index) {
  const BlockView& kept = gradients(index);
  for (const PartialRange& partial : block(index).partial)
    if (const FlatRange here = intersect(partial.range, kept.range); here.count() > 0)
      grid_.part(Axis::tensor, partial.parts).all_reduce(stream, kept.at(here)).wait(stream);
}

void ParameterStore::start_reduce(const Stream& stream, int index) {
  State& state = of(index);
  const Tensor whole = whole_gradient(index);
  if (options_.shard.zero_stage == 0) {
    state.reduce = grid_.data().all_reduce(stream, whole);
    return;
  }
  // The first result of a step is stored where it is kept; later ones are added to it on arrival.
  const Tensor to =
      windows() && !state.summed ? state.gradients.data : own_part(whole, block(index));
  state.reduce = shard_group_.reduce_scatter(stream, to, whole);
}

void ParameterStore::wait_reduce(const Stream& stream, int index) {
  State& state = of(index);
  state.reduce.wait(stream);
  if (!windows()) return;
  if (state.summed)
    accumulate(stream, state.gradients.data, own_part(whole_gradient(index), block(index)));
  state.summed = true;
  layers_.show_gradient(index, {});
  gradient_pools_[static_cast<std::size_t>(state.pool)].release(
      std::exchange(state.gradient_slot, none));
}

void ParameterStore::sum_tied(const Stream& stream, int index) {
  grid_.embedding().all_reduce(stream, gradients(index).at(block(index).stepped)).wait(stream);
}

void ParameterStore::end_gradients() {
  for (State& state : states_) state.summed = false;
}

void ParameterStore::start_gather(const Stream& stream, int index, int piece) {
  State& state = of(index);
  if (piece >= 0) {
    const FlatRange run = gathered_run(block(index), piece);
    gather_of(index, piece) =
        shard_group_.all_gather_run(stream, whole_weights(index), run.begin, run.count());
    return;
  }
  if (block(index).sharded()) {
    state.gathered_slot = gathered_pools_[static_cast<std::size_t>(state.pool)].acquire();
    layers_.show_weights(index, whole_weights(index));
  }
  state.gathers.front() =
      shard_group_.all_gather(stream, whole_weights(index), weights(index).at(block(index).own));
}

void ParameterStore::release(int index) {
  State& state = of(index);
  layers_.show_weights(index, {});
  gathered_pools_[static_cast<std::size_t>(state.pool)].release(
      std::exchange(state.gathered_slot, none));
}

void ParameterStore::progress() {
  if (stored_) stored_->progress();
  for (State& state : states_) {
    if (state.reduce.pending()) state.reduce.test();
    for (Request& gather : state.gathers)
      if (gather.pending()) gather.test();
  }
}

}  // namespace triax

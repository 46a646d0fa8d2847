// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters and gradients of a stage in flat buckets, and the operations on whole buckets.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/comm/watchdog/device_wait.hpp"
#include "src/state/buffer_pool.hpp"
#include "src/state/offload/state_options.hpp"
#include "src/state/offload/stored_shards.hpp"
#include "src/state/parameter_block.hpp"
#include "src/state/parameters/layer_views.hpp"

namespace triax {

/// Bytes a rank keeps in memory for parameters and gradients, for buffers of whole buckets, and for
/// parameters in a store.
struct StateBytes {
  std::int64_t parameters = 0, gradients = 0, whole_gradients = 0, gathered = 0;
  ShardBytes stored = {};
  bool operator==(const StateBytes&) const = default;
};
/// Bytes a ParameterStore of these buckets will hold.
StateBytes state_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole);

/// A contiguous range of a bucket's elements in memory.
struct BlockView {
  Tensor data;  // (range.count())
  FlatRange range;
  /// Elements `part` of the bucket, which must lie within the range.
  Tensor at(const FlatRange& part) const {
    return data.slice(0, part.begin - range.begin, part.count());
  }
};

class ParameterStore {
 public:
  /// Collective over the data axis. `grid` must outlive the store. `whole` may be empty below
  /// ZeRO-2.
  ParameterStore(const Stage& stage, ProcessGrid& grid, const StateOptions& options,
                 const WholeBuffers& whole = {});
  ParameterStore(const ParameterStore&) = delete;  // members point at each other
  ParameterStore& operator=(const ParameterStore&) = delete;

  const std::vector<ParameterBlock>& blocks() const { return blocks_; }
  /// Element type of the parameters.
  DType type() const { return options_.type; }
  DType gradient_type() const { return options_.gradient_type; }
  /// Memory of parameters and gradients, except those in a store.
  MemorySpace space() const { return options_.space; }
  MemorySource memory() const { return options_.memory(); }
  /// The wait for the device, for code that works on this store's tensors.
  WaitForDevice wait() const {
    return [&grid = grid_](const Event& event) { grid.drain(event); };
  }
  /// Ranks among which state is cut, and ranks that share a tensor.
  Communicator& shard_group() { return shard_group_; }
  Communicator& tensor_group() { return grid_.tensor(); }
  /// The file with the parameters' shards; null: none is on a disk.
  const OffloadStore* offload() const { return stored_ ? stored_->file() : nullptr; }
  /// The elements of a bucket's parameters and gradient that this rank keeps. Parameters in a store
  /// are available only from wait_load() to unload() or start_save().
  const BlockView& weights(int block) const { return of(block).weights; }
  const BlockView& gradients(int block) const { return of(block).gradients; }
  /// The weights an optimizer step changes: weights(block), or the shard on the host if the
  /// optimizer state is there too.
  BlockView stepped_weights(int block);
  /// Parameters and gradients of a layer for a micro-batch. They point to memory while the plan has
  /// the bucket whole.
  const LayerParameters& layer(int chunk, int index, int microbatch) {
    return layers_.layer(chunk, index, microbatch);
  }

  /// Calls visit(BlockView) with the parameters this rank keeps of a bucket, wherever they are. Use
  /// between steps, one bucket at a time. With Access::replace they are zero first.
  template <class Visit>
  void visit_weights(const Stream& stream, int block, Access access, Visit&& visit) {
    const ParameterBlock& is = blocks_[static_cast<std::size_t>(block)];
    if (!is.stored()) return visit(weights(block));
    stored_->of(block).visit(stream, access, [&](const Tensor& shard) {
      visit(BlockView{shard, is.parameters});
    });
  }

  StateBytes bytes() const;

  // Gradients of a bucket. Start calls return at once; work issued to `stream` after a wait sees
  // the result.
  /// ZeRO-2: makes the whole gradient available; `microbatch` writes it first.
  void open_gradient(int block, int microbatch);
  void sum_over_replicas(const Stream& stream, int block);
  /// Sums partial gradients among the ranks that hold the same range of a tensor. Call
  /// make_groups() once before, on all ranks together and with no message under way: NCCL splits
  /// communicators only then.
  void sum_over_tensor(const Stream& stream, int block);
  void make_groups();
  void start_reduce(const Stream& stream, int block);
  void wait_reduce(const Stream& stream, int block);
  /// Sums the tied embedding's (reduced) gradient over first and last stage.
  void sum_tied(const Stream& stream, int block);
  /// All gradients of the step are final; later reductions belong to the next step.
  void end_gradients();
  /// Gathers parameters. Below ZeRO-3: those updated by all data ranks, one piece of them or (-1)
  /// all. ZeRO-3: the whole bucket until release().
  void start_gather(const Stream& stream, int block, int piece);
  void wait_gather(const Stream& stream, int block, int piece) {
    gather_of(block, piece).wait(stream);
  }
  void release(int block);

  // ZeRO-3 shards of a bucket whose parameters are in a store. Error if the disk fails.
  void start_load(int block) { stored_->of(block).start_load(); }
  void wait_load(const Stream& stream, int block);
  void unload(const Stream& stream, int block);
  void start_save(const Stream& stream, int block);
  void wait_save(int block) { stored_->of(block).wait_save(); }
  /// Makes progress on messages and copies under way.
  void progress();

 private:
  static constexpr int none = -1;
  struct State {
    BlockView weights, gradients;  // the ranges this rank keeps
    int pool = 0;
    // Buffers of the pools, while the bucket is whole.
    int gradient_slot = none, gathered_slot = none;
    bool summed = false;  // ZeRO-2: the kept gradient already contains a part of this step
    Request reduce;
    std::vector<Request> gathers;  // by piece
  };
  void make_pools(const WholeBuffers& whole);
  void show_kept();
  bool windows() const { return options_.shard.cuts_gradients(); }
  const ParameterBlock& block(int index) const { return blocks_[static_cast<std::size_t>(index)]; }
  State& of(int block) { return states_[static_cast<std::size_t>(block)]; }
  const State& of(int block) const { return states_[static_cast<std::size_t>(block)]; }
  Request& gather_of(int block, int piece) {
    return of(block).gathers[static_cast<std::size_t>(std::max(piece, 0))];
  }
  Tensor whole_gradient(int block) const;
  Tensor whole_weights(int block) const;

  ProcessGrid& grid_;
  StateOptions options_;
  Communicator& shard_group_;
  std::vector<ParameterBlock> blocks_;
  Memory weight_memory_, gradient_memory_;
  std::vector<State> states_;  // by bucket
  LayerViews layers_;
  std::vector<BufferPool> gradient_pools_, gathered_pools_;
  std::unique_ptr<StoredShards> stored_;
};

}  // namespace triax

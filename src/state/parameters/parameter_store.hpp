#pragma once
// Parameters and gradients of a stage in flat blocks, and what is done with whole blocks.
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

/// Bytes of the parameters and gradients that a rank keeps in memory, of the buffers for whole
/// blocks, and of parameters in a store.
struct StateBytes {
  std::int64_t parameters = 0, gradients = 0, whole_gradients = 0, gathered = 0;
  ShardBytes stored = {};
  bool operator==(const StateBytes&) const = default;
};
/// What a ParameterStore of these blocks will hold.
StateBytes state_bytes(const std::vector<ParameterBlock>& blocks, const StateOptions& options,
                       const WholeBuffers& whole);

/// Elements of a block in memory: a run of them.
struct BlockView {
  Tensor data;  // (range.count())
  FlatRange range;
  /// The elements `part` of the block, which must lie within the range.
  Tensor at(const FlatRange& part) const {
    return data.slice(0, part.begin - range.begin, part.count());
  }
};

class ParameterStore {
 public:
  /// `grid` outlives the store. `whole` may be empty up to ZeRO-1. Collective over the data axis.
  ParameterStore(const Stage& stage, ProcessGrid& grid, const StateOptions& options,
                 const WholeBuffers& whole = {});
  ParameterStore(const ParameterStore&) = delete;  // its parts point at each other
  ParameterStore& operator=(const ParameterStore&) = delete;

  const std::vector<ParameterBlock>& blocks() const { return blocks_; }
  /// Of the parameters' elements.
  DType type() const { return options_.type; }
  DType gradient_type() const { return options_.gradient_type; }
  /// Where parameters and gradients are, but for what is in a store.
  MemorySpace space() const { return options_.space; }
  MemorySource memory() const { return options_.memory(); }
  /// How whoever works on what it holds waits for the device.
  WaitForDevice wait() const {
    return [&grid = grid_](const Event& event) { grid.drain(event); };
  }
  /// Where the parameters' shards are on a disk; null: nowhere.
  const OffloadStore* offload() const { return stored_ ? stored_->file() : nullptr; }
  /// What this rank keeps of a block's parameters and of its gradient; where the parameters are in
  /// a store, from wait_load to unload or start_save only.
  const BlockView& weights(int block) const { return of(block).weights; }
  const BlockView& gradients(int block) const { return of(block).gradients; }
  /// What a Step changes: weights(block), but the shard on the host where its state is there too.
  BlockView stepped_weights(int block);
  /// Parameters and gradients of a layer, as it wants them for a micro-batch. They point to memory
  /// where the plan has the block whole.
  const LayerParameters& layer(int chunk, int index, int microbatch) {
    return layers_.layer(chunk, index, microbatch);
  }

  /// Calls visit(BlockView) with what this rank keeps of a block's parameters, wherever it is:
  /// between steps, one at a time. With Access::replace it is zero before.
  template <class Visit>
  void visit_weights(const Stream& stream, int block, Access access, Visit&& visit) {
    const ParameterBlock& is = blocks_[static_cast<std::size_t>(block)];
    if (!is.stored()) return visit(weights(block));
    stored_->of(block).visit(stream, access, [&](const Tensor& shard) {
      visit(BlockView{shard, is.parameters});
    });
  }

  StateBytes bytes() const;

  // Gradients of a block. Start returns at once; what `stream` does after Wait sees the result.
  /// ZeRO-2: the whole gradient, which `microbatch` writes first.
  void open_gradient(int block, int microbatch);
  void sum_over_replicas(const Stream& stream, int block);
  /// Among the ranks that hold the same part of a tensor. make_groups() before the first of a run,
  /// together and with no message under way: NCCL splits a communicator only then.
  void sum_over_tensor(const Stream& stream, int block);
  void make_groups();
  void start_reduce(const Stream& stream, int block);
  void wait_reduce(const Stream& stream, int block);
  /// Sums the tied embedding's (reduced) gradient over first and last stage.
  void sum_tied(const Stream& stream, int block);
  /// All gradients of the step are final: what is reduced from here on belongs to the next.
  void end_gradients();
  /// The whole parameters: of ZeRO-1, updated by all data ranks, a piece of them or (-1) all; of
  /// ZeRO-3, for a while.
  void start_gather(const Stream& stream, int block, int piece);
  void wait_gather(const Stream& stream, int block, int piece) {
    gather_of(block, piece).wait(stream);
  }
  void release(int block);

  // ZeRO-3, the shard of a block whose parameters are in a store. Error where the disk fails.
  void start_load(int block) { stored_->of(block).start_load(); }
  void wait_load(const Stream& stream, int block);
  void unload(const Stream& stream, int block);
  void start_save(const Stream& stream, int block);
  void wait_save(int block) { stored_->of(block).wait_save(); }
  /// Lets messages under way move on.
  void progress();

 private:
  static constexpr int none = -1;
  struct State {
    BlockView weights, gradients;  // kept
    int pool = 0;
    // Whole buffers of the pools, where they are held.
    int gradient_slot = none, gathered_slot = none;
    bool summed = false;  // the kept gradient has part of this step's already (ZeRO-2)
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
  std::vector<State> states_;  // by block
  LayerViews layers_;
  std::vector<BufferPool> gradient_pools_, gathered_pools_;
  std::unique_ptr<StoredShards> stored_;
};

}  // namespace triax

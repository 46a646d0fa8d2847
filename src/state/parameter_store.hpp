#pragma once
// Parameters and gradients of a stage in flat blocks, and what is done with whole blocks.
#include <vector>

#include "src/comm/process_grid.hpp"
#include "src/state/parameter_block.hpp"

namespace triax {

class ParameterStore {
 public:
  /// `grid` gives data-parallel size and place, and outlives the store; `shard_optimizer`: ZeRO
  /// stage 1.
  ParameterStore(const Stage& stage, ProcessGrid& grid, bool shard_optimizer);

  const std::vector<ParameterBlock>& blocks() const { return blocks_; }
  /// All elements of a block: (elements) float32.
  const Tensor& weights(int block) const { return weights_[static_cast<std::size_t>(block)]; }
  const Tensor& gradients(int block) const { return gradients_[static_cast<std::size_t>(block)]; }
  /// Weights and gradients of a layer as it wants them.
  const LayerParameters& layer(int chunk, int index) const {
    return layers_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(index)];
  }
  /// Bytes of the weights; the gradients take as many.
  std::int64_t weight_bytes() const { return static_cast<std::int64_t>(weight_memory_.bytes()); }

  // Gradients of a block. Start returns at once; what `stream` does after Wait sees the result.
  void sum_over_tensor(const Stream& stream, int block);
  void start_reduce(const Stream& stream, int block);
  void wait_reduce(const Stream& stream, int block) { request(block).wait(stream); }
  /// Sums the tied embedding's (reduced) gradient over first and last stage.
  void sum_tied(const Stream& stream, int block);
  /// Updated weights of all data ranks (ZeRO 1).
  void start_gather(const Stream& stream, int block);
  void wait_gather(const Stream& stream, int block) { request(block).wait(stream); }
  /// Lets messages under way move on.
  void progress();

 private:
  void allocate();
  void make_views(const Stage& stage);
  const ParameterBlock& block(int index) const { return blocks_[static_cast<std::size_t>(index)]; }
  Request& request(int block) { return requests_[static_cast<std::size_t>(block)]; }
  static Tensor part(const Tensor& flat, const FlatRange& range) {
    return flat.slice(0, range.begin, range.count());
  }

  ProcessGrid& grid_;
  bool shard_optimizer_;
  std::vector<ParameterBlock> blocks_;
  Buffer weight_memory_, gradient_memory_;
  std::vector<Tensor> weights_, gradients_;           // by block
  std::vector<std::vector<LayerParameters>> layers_;  // by chunk
  std::vector<Request> requests_;                     // by block
};

}  // namespace triax

#pragma once
// The parameters and gradients of blocks as layers want them: by chunk, layer and parameter.
#include <vector>

#include "src/state/parameter_block.hpp"

namespace triax {

class LayerViews {
 public:
  /// Of nothing yet. `blocks` outlives the views.
  LayerViews(const Stage& stage, const std::vector<ParameterBlock>& blocks);

  /// Points the layers of a block to its whole parameters (elements of the block); empty: to
  /// nothing.
  void show_weights(int block, const Tensor& weights);
  /// The same of its gradient, which `first_microbatch` writes and the others add to.
  void show_gradient(int block, const Tensor& gradient, int first_microbatch = 0);

  /// Parameters and gradients of a layer, as it wants them for a micro-batch.
  const LayerParameters& layer(int chunk, int index, int microbatch);

 private:
  LayerParameters& of(const ParameterUse& use) {
    return layers_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)];
  }

  const std::vector<ParameterBlock>& blocks_;
  std::vector<int> first_microbatch_;                    // by block
  std::vector<std::vector<LayerParameters>> layers_;     // by chunk
  std::vector<std::vector<std::vector<int>>> block_of_;  // by chunk, layer, parameter
};

}  // namespace triax

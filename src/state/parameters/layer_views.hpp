// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of bucket memory as parameters and gradients of layers.
#include <vector>

#include "src/state/parameter_block.hpp"

namespace triax {

class LayerViews {
 public:
  /// All views are empty at first. `blocks` must outlive the object.
  LayerViews(const Stage& stage, const std::vector<ParameterBlock>& blocks);

  /// Points the layers of a bucket to its whole parameters `weights`; empty: to nothing.
  void show_weights(int block, const Tensor& weights);
  /// The same for its gradient, which micro-batch `first_microbatch` writes and later ones add to.
  void show_gradient(int block, const Tensor& gradient, int first_microbatch = 0);

  /// Parameters and gradients of a layer for a micro-batch.
  const LayerParameters& layer(int chunk, int index, int microbatch);

 private:
  LayerParameters& of(const ParameterUse& use) {
    return layers_[static_cast<std::size_t>(use.chunk)][static_cast<std::size_t>(use.layer)];
  }

  const std::vector<ParameterBlock>& blocks_;
  std::vector<int> first_microbatch_;                    // by bucket
  std::vector<std::vector<LayerParameters>> layers_;     // by chunk
  std::vector<std::vector<std::vector<int>>> block_of_;  // by chunk, layer, parameter
};

}  // namespace triax

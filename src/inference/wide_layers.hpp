// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parameters of a stage's layers whose weights are held in 16 bits. On the host.
#include <vector>

#include "src/model/stage/stage.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

class WideLayers {
 public:
  /// `stage` and `store`, whose weights are loaded and all in memory, outlive the object. The store
  /// may hold float32, too: then nothing is copied.
  WideLayers(const Stage& stage, ParameterStore& store);

  /// Parameters of a layer: matrices as the store has them, others (norms, biases, adapters) in
  /// float32.
  const LayerParameters& held(int layer) const { return held_[static_cast<std::size_t>(layer)]; }
  /// All in float32, but for packed weights and the tables of the embedding, whose rows are widened
  /// as they are read. A copy, until the next call for another layer.
  const LayerParameters& wide(int layer);

 private:
  const Stage& stage_;
  std::vector<LayerParameters> held_;
  Buffer small_;     // all that held() has in float32
  Buffer matrices_;  // of one layer, in float32; grows to the largest
  LayerParameters wide_;
  int wide_layer_ = -1;  // that wide_ is
};

}  // namespace triax

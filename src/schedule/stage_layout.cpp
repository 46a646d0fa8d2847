// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/stage_layout.hpp"

namespace triax {

StageLayout::StageLayout(const PlanShape& shape, int stage)
    : stage_(stage),
      stages_(shape.stages),
      last_(shape.stages * shape.chunks - 1),
      first_trained_(shape.first_trained),
      layers_(shape.layers[stage]) {
  const int own_output = stages_ > 1 ? 1 : 0;  // one stage: the output is the next chunk's input
  for (const int layers : layers_) {
    first_layer_.push_back(all_layers_);
    first_boundary_.push_back(all_boundaries_);
    all_layers_ += layers;
    all_boundaries_ += layers + own_output;
  }
  all_boundaries_ += 1 - own_output;  // the output of the last chunk
}

bool StageLayout::has_output(int chunk, int layer) const {
  return layer + 1 < layers_[chunk] || global_chunk(chunk) < last_;
}

}  // namespace triax

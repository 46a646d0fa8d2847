// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of a stage's chunks and layers in the model, and the numbering of its buffers.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

class StageLayout {
 public:
  /// The shape must have passed check_shape. No reference to it is kept.
  StageLayout(const PlanShape& shape, int stage);

  int chunks() const { return static_cast<int>(layers_.size()); }
  int layers(int chunk) const { return layers_[chunk]; }
  /// Number of layers of the stage.
  int layers() const { return all_layers_; }
  /// Number of a layer among all layers of the stage, in [0, layers()).
  int layer_index(int chunk, int layer) const { return first_layer_[chunk] + layer; }

  /// Number of the activation between `layer - 1` and `layer`; layer in [0, layers(chunk)], the
  /// result in [0, boundaries()). The gradient there has the same number. With one stage a chunk's
  /// output is the next chunk's input, under one number.
  int boundary(int chunk, int layer) const { return first_boundary_[chunk] + layer; }
  int boundaries() const { return all_boundaries_; }

  /// Position of the chunk in the model.
  int global_chunk(int chunk) const { return chunk * stages_ + stage_; }
  /// Whether the layer has an input activation: not the model's first layer, which reads tokens.
  bool has_input(int chunk, int layer) const { return layer > 0 || global_chunk(chunk) > 0; }
  /// Whether the layer has an output activation: not the model's last layer, which ends in the
  /// loss.
  bool has_output(int chunk, int layer) const;
  /// PlanShape::runs_backward, and whether some layer of the chunk has a Backward.
  bool runs_backward(int chunk, int layer) const { return at(chunk, layer) >= first_trained_; }
  bool runs_backward(int chunk) const { return global_chunk(chunk) >= first_trained_.chunk; }
  /// Whether a Backward before the layer reads the gradient of the layer's input.
  bool passes_gradient(int chunk, int layer) const { return at(chunk, layer) > first_trained_; }
  /// Whether a message brings the chunk's input. Another returns the input's gradient, if a chunk
  /// before has a Backward.
  bool has_message_before(int chunk) const { return stages_ > 1 && global_chunk(chunk) > 0; }
  /// Whether a message takes the chunk's output. Another brings the output's gradient, if the chunk
  /// has a Backward.
  bool has_message_after(int chunk) const { return stages_ > 1 && global_chunk(chunk) < last_; }

 private:
  ModelLayer at(int chunk, int layer) const { return {global_chunk(chunk), layer}; }

  int stage_;
  int stages_;
  int last_;  // the model's last global chunk
  ModelLayer first_trained_;
  int all_layers_ = 0;
  int all_boundaries_ = 0;
  std::vector<int> layers_;
  std::vector<int> first_layer_;
  std::vector<int> first_boundary_;
};

}  // namespace triax

#pragma once
// Where the chunks and layers of one pipeline stage stand in the model, and how its buffers are
// numbered.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

class StageLayout {
 public:
  /// The shape must have passed check_shape. No reference to it is kept.
  StageLayout(const PlanShape& shape, int stage);

  int chunks() const { return static_cast<int>(layers_.size()); }
  int layers(int chunk) const { return layers_[chunk]; }
  /// All layers of the stage.
  int layers() const { return all_layers_; }
  /// Number of a layer among all layers of the stage, in [0, layers()).
  int layer_index(int chunk, int layer) const { return first_layer_[chunk] + layer; }

  /// Number of the activation that is the input of `layer`, or the output of `layer - 1`; layer in
  /// [0, layers(chunk)], the result in [0, boundaries()). The gradient there has the same number.
  /// With one stage the output of a chunk is the input of the next: they have one number.
  int boundary(int chunk, int layer) const { return first_boundary_[chunk] + layer; }
  int boundaries() const { return all_boundaries_; }

  /// Position of the chunk in the model.
  int global_chunk(int chunk) const { return chunk * stages_ + stage_; }
  /// False for the model's first layer, which reads tokens.
  bool has_input(int chunk, int layer) const { return layer > 0 || global_chunk(chunk) > 0; }
  /// False for the model's last layer, which ends in the loss.
  bool has_output(int chunk, int layer) const;
  /// The chunk's input comes, and the input's gradient goes, by a message.
  bool has_message_before(int chunk) const { return stages_ > 1 && global_chunk(chunk) > 0; }
  /// The chunk's output goes, and the output's gradient comes, by a message.
  bool has_message_after(int chunk) const { return stages_ > 1 && global_chunk(chunk) < last_; }

 private:
  int stage_;
  int stages_;
  int last_;  // the model's last global chunk
  int all_layers_ = 0;
  int all_boundaries_ = 0;
  std::vector<int> layers_;
  std::vector<int> first_layer_;
  std::vector<int> first_boundary_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model for inference on a process grid: this rank's stage and its weights, without gradients or
// optimizer state. Each data rank has a whole model, cut over its pipeline and tensor ranks.
#include <functional>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/inference/wide_layers.hpp"
#include "src/model/stage/stage.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// How the weights of a model are held in memory (held_weights).
struct HeldWeights {
  DType type = DType::f32;  // of all tensors that are not held in few bits
  std::string maps = {};    // "nf4", "nf4-double" or "int8": linear maps of blocks; empty: `type`
  std::string note = {};    // line for the user; empty: float32
};

class GridModel {
 public:
  /// Fills the store of every rank. Collective over the grid.
  using Load = std::function<void(const Stream&, const ModelConfig&, ParameterStore&)>;
  /// `context`: longest sequence in tokens. `grid` outlives the object. `held`: other weights than
  /// float32 are on the host. Collective over the grid.
  GridModel(const ModelConfig& model, ProcessGrid& grid, std::int64_t context, const Load& load,
            const HeldWeights& held = {});
  GridModel(const GridModel&) = delete;  // its members point at each other
  GridModel& operator=(const GridModel&) = delete;

  const ModelConfig& model() const { return model_; }
  std::int64_t context() const { return context_; }
  ProcessGrid& grid() { return grid_; }
  const Stream& stream() const { return stream_; }
  const Stage& stage() const { return stage_; }
  /// Index of the head among the layers of the stage, if it has one: the number of the others.
  int layers_before_head() const { return stage_.layers(0) - (stage_.has_head() ? 1 : 0); }
  /// Parameters of a layer for packed rows, whose products take matrices as they are held.
  const LayerParameters& layer(int index) const { return layers_.held(index); }
  /// Parameters of a layer for products of float32 alone, until the next call for another layer.
  const LayerParameters& wide_layer(int index) { return layers_.wide(index); }
  /// Shape of `batch` sequences of `length` tokens on this rank.
  BatchShape shape(std::int64_t batch, std::int64_t length) const;

  /// Receives the output of the stage before into `x`; nothing on the first stage.
  void receive(const Tensor& x);
  /// Sends the output of this stage to the next; nothing on the last stage. `y` may be reused on
  /// return.
  void send(const Tensor& y);

 private:
  ModelConfig model_;  // all parameters frozen
  std::int64_t context_;
  ProcessGrid& grid_;
  Stream stream_;
  Stage stage_;
  ParameterStore store_;
  WideLayers layers_;
};

/// Activations of a forward pass that keeps nothing for a backward pass: the residual stream before
/// and after a layer, (rows, E), and one frame. Scratch follows in the arena.
struct ForwardSpace {
  Tensor in, out, frame;
  ForwardSpace(Arena& arena, const GridModel& model, const BatchShape& shape);
  /// Bytes with the scratch of all layers.
  static std::size_t bytes(const GridModel& model, const BatchShape& shape);
};

}  // namespace triax

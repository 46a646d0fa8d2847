// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layers of one pipeline stage.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/device/device_arena.hpp"
#include "src/config/config.hpp"
#include "src/model/head_layer.hpp"
#include "src/model/layer.hpp"

namespace triax {

/// Coordinates of a rank in the model's grid.
struct StagePlace {
  int stages = 1, stage = 0;
  int chunks = 1;  // model chunks per stage; global chunk g is chunk g / stages of stage g % stages
  TensorShard tensor;
  std::vector<int> layers = {};  // blocks of each global chunk; empty: partition_blocks
};

/// Purpose of a Stage: `run` computes what its layers share (rotary positions), `plan` does not.
enum class StageUse : std::uint8_t { run, plan };

class Stage {
 public:
  /// `sequence_length`: T of its batches, on which rotary positions may depend. `memory`: source of
  /// the rotary tables' memory (region "tables").
  Stage(const ModelConfig& model, const StagePlace& place, std::int64_t sequence_length,
        const RecomputeConfig& recompute = {}, StageUse use = StageUse::run,
        const MemorySource& memory = {});

  const StagePlace& place() const { return place_; }
  StageUse use() const { return use_; }
  int chunks() const { return static_cast<int>(layers_.size()); }
  int layers(int chunk) const {
    return static_cast<int>(layers_[static_cast<std::size_t>(chunk)].size());
  }
  const Layer& layer(int chunk, int index) const {
    return *layers_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(index)];
  }
  /// Number in the model of the chunk's first transformer block.
  int first_block(int chunk) const { return first_blocks_[static_cast<std::size_t>(chunk)]; }
  /// "block 3", "embedding", "head": for error messages.
  const std::string& name(int chunk, int index) const {
    return names_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(index)];
  }
  /// Whether the model has low-rank adapters, on this stage or another.
  bool has_adapters() const { return adapters_; }
  bool has_embedding() const { return place_.stage == 0; }
  bool has_head() const { return place_.stage == place_.stages - 1; }
  /// The head. Requires has_head().
  const HeadLayer& head() const;
  /// Bytes of the rotary tables that the layers share.
  std::int64_t table_bytes() const { return table_bytes_; }
  /// Most scratch of any layer.
  std::size_t scratch_bytes(const BatchShape& shape) const;

 private:
  std::vector<Tensor> make_ropes(const ModelConfig& model, std::int64_t sequence_length,
                                 const MemorySource& memory);

  StagePlace place_;
  StageUse use_;
  bool adapters_;
  Memory rope_;  // the tables of all of the model's rotary positions, one after another
  std::int64_t table_bytes_ = 0;
  std::vector<std::vector<std::unique_ptr<Layer>>> layers_;
  std::vector<std::vector<std::string>> names_;
  std::vector<int> first_blocks_;  // by chunk
};

/// A tensor of the model as a checkpoint holds it.
struct GlobalTensor {
  std::string name;
  Shape shape;
  bool trained = true;
  bool adapter = false;  // ParameterSpec::adapter
  bool of_base = true;   // ParameterSpec::of_base
  bool matrix = false;   // ParameterSpec::matrix
};
/// All tensors of a model in the order of its layers, each once; those of its adapters too.
std::vector<GlobalTensor> global_tensors(const ModelConfig& model);
/// The model without its adapters.
ModelConfig base_of(ModelConfig model);

}  // namespace triax

#pragma once
// The layers of one pipeline stage, and how the model is cut into stages.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/device/device_arena.hpp"
#include "src/config/config.hpp"
#include "src/model/head_layer.hpp"
#include "src/model/layer.hpp"

namespace triax {

/// Where a rank stands in the model's grid.
struct StagePlace {
  int stages = 1, stage = 0;
  int chunks = 1;  // model chunks a stage; global chunk g is chunk g / stages of stage g % stages
  TensorShard tensor;
};

/// First transformer block of each global chunk, and the end: chunks + 1 numbers. The blocks are
/// cut so that the dearest chunk costs least, counting the embedding with the first chunk and the
/// head with the last. UsageError where there are fewer blocks than chunks.
std::vector<int> partition_blocks(const ModelConfig& model, int chunks,
                                  std::int64_t sequence_length);

/// Multiply-adds times two of one token's forward pass.
struct ForwardFlops {
  double block, head;
};
ForwardFlops forward_flops(const ModelConfig& model, std::int64_t sequence_length);
/// FLOPs of a token's training step: three times the forward pass (6 N, and attention's causal half
/// once).
double training_flops_per_token(const ModelConfig& model, std::int64_t sequence_length);
/// What of them is attention's; where it is counted as a whole square, there is as much more.
double attention_flops_per_token(const ModelConfig& model, std::int64_t sequence_length);

/// Whether a stage's layers are to run: what they share (rotary positions) is computed then.
enum class StageUse : std::uint8_t { run, plan };

class Stage {
 public:
  /// `sequence_length`: T of the batches it will see. `memory`: where they will be, and what its
  /// part "tables" is for.
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
  /// "block 3", "embedding", "head": for messages.
  const std::string& name(int chunk, int index) const {
    return names_[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(index)];
  }
  bool has_embedding() const { return place_.stage == 0; }
  bool has_head() const { return place_.stage == place_.stages - 1; }
  /// The head; only where has_head().
  const HeadLayer& head() const;
  /// Bytes of the tables that its layers share (rotary positions).
  std::int64_t table_bytes() const { return table_bytes_; }
  /// Most scratch that any layer takes.
  std::size_t scratch_bytes(const BatchShape& shape) const;

 private:
  StagePlace place_;
  StageUse use_;
  Memory rope_;
  std::int64_t table_bytes_ = 0;
  std::vector<std::vector<std::unique_ptr<Layer>>> layers_;
  std::vector<std::vector<std::string>> names_;
};

/// A tensor of the model as a checkpoint holds it.
struct GlobalTensor {
  std::string name;
  Shape shape;
};
/// All tensors of a model in the order of its layers, each once.
std::vector<GlobalTensor> global_tensors(const ModelConfig& model);

}  // namespace triax

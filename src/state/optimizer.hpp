#pragma once
// AdamW on this rank's shard of every block, and the global gradient norm.
#include <vector>

#include "src/config/config.hpp"
#include "src/state/parameter_store.hpp"

namespace triax {

/// What changes from step to step.
struct StepOptions {
  double learning_rate = 0.0;
  double beta1 = 0.9, beta2 = 0.999;
  std::int64_t step = 1;  // counted from 1
};

/// Bytes of the moments that an Optimizer of these blocks will hold.
std::int64_t moment_bytes(const std::vector<ParameterBlock>& blocks);

class Optimizer {
 public:
  Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping);

  /// The L2 norm of the whole model's gradient: each tensor counted once, however it is sharded,
  /// replicated or tied. Collective over the grid; fixes the clip factor for step(). Returns the
  /// norm before clipping.
  double gradient_norm(const Stream& stream, Communicator& world);
  /// AdamW on `stepped` of one block.
  void step(const Stream& stream, int block, const StepOptions& options);

  /// First and second moments of a block's `stepped` elements, float32.
  const BlockView& first_moment(int block) const { return first_[static_cast<std::size_t>(block)]; }
  const BlockView& second_moment(int block) const {
    return second_[static_cast<std::size_t>(block)];
  }
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }

 private:
  /// A run of a block's elements with one weight decay.
  struct Run {
    FlatRange range;
    bool decays;
  };
  ParameterStore& store_;
  OptimizerConfig config_;
  double clip_;
  float gradient_scale_ = 1.0F;
  Buffer memory_;
  std::vector<BlockView> first_, second_;        // by block
  std::vector<std::vector<Run>> runs_;           // by block: what step() updates
  std::vector<std::vector<FlatRange>> counted_;  // by block: what the norm counts
  double norm_squares_ = 0.0;                    // target of the all-reduce
};

}  // namespace triax

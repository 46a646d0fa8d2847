#pragma once
// AdamW on this rank's shard of every block, and the global gradient norm. Where the parameters
// have 16 bits, a float32 master copy of them is what is stepped (Micikevicius et al. 2018).
#include <optional>
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

class Optimizer {
 public:
  Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping);

  /// The L2 norm of the whole model's gradient: each tensor counted once, however it is sharded,
  /// replicated or tied. Collective over the grid; fixes the clip factor for step(). `loss_scale`:
  /// what the loss, and so the gradients, were multiplied with (fp16). Returns the norm before
  /// clipping, of the gradients without that factor; where a scaled loss makes it infinite or NaN,
  /// step() will change nothing.
  double gradient_norm(const Stream& stream, Communicator& world,
                       std::optional<double> loss_scale = {});
  /// AdamW on `stepped` of one block.
  void step(const Stream& stream, int block, const StepOptions& options);

  /// First and second moments of a block's `stepped` elements, float32.
  const BlockView& first_moment(int block) const { return first_[static_cast<std::size_t>(block)]; }
  const BlockView& second_moment(int block) const {
    return second_[static_cast<std::size_t>(block)];
  }
  /// The master copy of a block's `stepped` elements, float32; only where has_master().
  const BlockView& master(int block) const { return master_[static_cast<std::size_t>(block)]; }
  bool has_master() const { return !master_.empty(); }
  /// Bytes of the moments, and of the master copy.
  std::int64_t bytes() const { return static_cast<std::int64_t>(memory_.bytes()); }
  std::int64_t master_bytes() const { return static_cast<std::int64_t>(master_memory_.bytes()); }

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
  bool overflow_ = false;  // of the step's scaled gradients
  Buffer memory_, master_memory_;
  std::vector<BlockView> first_, second_, master_;  // by block
  std::vector<std::vector<Run>> runs_;              // by block: what step() updates
  std::vector<std::vector<FlatRange>> counted_;     // by block: what the norm counts
  double norm_squares_ = 0.0;                       // target of the all-reduce
};

}  // namespace triax

#pragma once
// AdamW on this rank's shard of every block, and the global gradient norm. Where the parameters
// have 16 bits, a float32 master copy of them is what is stepped (Micikevicius et al. 2018).
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "src/config/config.hpp"
#include "src/state/offload/offload_store.hpp"
#include "src/state/optimizer/host_step.hpp"
#include "src/state/optimizer/step_verdict.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Optimizer state of a run of a block's `stepped` elements, float32.
struct StateView {
  BlockView first, second;  // moments
  BlockView master;         // where the parameters have 16 bits
};

/// A run of a block's elements that are stepped alike.
struct SteppedRun {
  FlatRange range;
  bool decays = false;
  int parameter = 0;  // of the block, the first
};

/// Where optimizer state is kept that is not in memory, and how many of its parts are at once.
struct StateBuffers {
  OffloadPlace place = {};
  int count = 1;
};

/// What changes from step to step.
struct StepOptions {
  double learning_rate = 0.0;
  double beta1 = 0.9, beta2 = 0.999;
  std::int64_t step = 1;  // counted from 1
};

/// Bytes of optimizer state: in memory all the time, in a store, and of the store's buffers.
struct OptimizerBytes {
  std::int64_t moments = 0, master = 0;
  std::int64_t stored_moments = 0, stored_master = 0;
  std::int64_t buffers = 0;
  // On the host where the parameters are a device's: of the kept state, and to step it there.
  std::int64_t host_moments = 0, host_master = 0, host_step = 0;
  bool operator==(const OptimizerBytes&) const = default;
};
/// What an Optimizer of these blocks will hold, whose parameters are as `options` say, with so many
/// parts from a store at once.
OptimizerBytes optimizer_bytes(const std::vector<ParameterBlock>& blocks,
                               const StateOptions& options, const StateBuffers& stored);

class Optimizer {
 public:
  /// `stored`: for the parts of the store's blocks that are not kept in memory.
  Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping,
            const StateBuffers& stored = {});

  /// The L2 norm of the whole model's gradient: each tensor counted once, however it is sharded,
  /// replicated or tied. Collective over the grid; fixes the clip factor for step(). `loss_scale`:
  /// what the loss, and so the gradients, were multiplied with (fp16). Returns the norm before
  /// clipping, of the gradients without that factor. Where it is not finite, step() will change
  /// nothing on any rank; it is NaN where `usable` is false on one.
  double gradient_norm(const Stream& stream, Communicator& world,
                       std::optional<double> loss_scale = {}, bool usable = true);
  /// Whether the host takes no part in steps: nothing of theirs is on it, nor on a disk.
  bool decides_on_device() const;
  /// The same without a wait, where decides_on_device(): the factor and whether the step may change
  /// anything are found by the device. `loss`: this rank's part of the loss, (1) float64 on the
  /// device; empty: none; where it is not finite the step cannot be used. Behind such a step
  /// nothing changes until go_on(). `all`: for messages of the device's memory.
  LateNumbers late_gradient_norm(const Stream& stream, Communicator& all,
                                 std::optional<double> loss_scale, const Tensor& loss);
  void go_on(const Stream& stream) const { verdict_.go_on(stream); }
  /// Called by each step() before it changes anything: nothing else changes parameters, master copy
  /// and moments during a run (of gathers each rank sends what its own steps have made).
  void before_update(std::function<void()> wait) { before_update_ = std::move(wait); }
  /// AdamW on `stepped` of one block, or on a part of it (PlanShape's parts; -1: on all).
  void step(const Stream& stream, int block, int part, const StepOptions& options);

  // Optimizer state of a part that is not kept in memory: there from wait_fetch to start_store.
  // Error where the disk fails.
  void start_fetch(int block, int part) { offload_->start_read(unit(block, part)); }
  void wait_fetch(int block, int part) { offload_->wait_read(unit(block, part)); }
  void start_store(int block, int part) { offload_->start_write(unit(block, part)); }
  void wait_store(int block, int part) { offload_->wait_write(unit(block, part)); }

  /// What of a block's state is in memory all the time: all of it, unless it is cut into parts.
  const StateView& kept_state(int block) const { return kept_[static_cast<std::size_t>(block)]; }
  /// Calls visit(StateView) for all of a block's state, wherever it is, piece by piece: between
  /// steps. With Access::replace a piece is zero before.
  template <class Visit>
  void visit_state(const Stream& stream, int block, Access access, Visit&& visit) {
    if (kept_state(block).first.range.count() > 0) visit(kept_state(block));
    const ParameterBlock& is = store_.blocks()[static_cast<std::size_t>(block)];
    for (int part = is.kept_parts; part < std::ssize(is.parts); ++part)
      offload_->visit(stream, unit(block, part), access, [&] { visit(state_of(block, part)); });
  }
  /// Whether weights are not simply their masters rounded to nearest.
  bool rounds_stochastically() const { return !numbers_.empty(); }
  bool has_master() const { return store_.type() != DType::f32; }
  /// Where state is that is not in memory; null: nowhere.
  const OffloadStore* offload() const { return offload_.get(); }
  OptimizerBytes allocated() const;

 private:
  void keep_in_memory();
  void sum_squares(const Stream& stream);
  void make_store(const StateBuffers& stored);
  int unit(int block, int part) const;
  std::optional<ElementNumbers> numbers(int block, const SteppedRun& run, std::int64_t begin,
                                        std::int64_t step) const;
  StateView state_of(int block, int part) const;

  ParameterStore& store_;
  OptimizerConfig config_;
  double clip_;
  bool skip_ = false;  // the host knows that the gradients are not finite
  std::function<void()> before_update_ = [] {};
  // State that is in memory all the time.
  struct StateMemory {
    Memory moments, master;
  };
  StateMemory memory_,
      host_memory_;  // where the parameters are; on the host where that is elsewhere
  std::unique_ptr<HostStep> host_step_;
  std::vector<StateView> kept_;  // by block
  std::unique_ptr<OffloadStore> offload_;
  std::vector<int> first_unit_;                // by block: of its first part that is not kept
  std::vector<std::vector<SteppedRun>> runs_;  // by block: what step() updates
  std::vector<std::vector<ElementNumbers>> numbers_;  // by block and parameter: for random rounding
  std::vector<std::vector<FlatRange>> counted_;       // by block: what the norm counts
  StepVerdict verdict_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The optimizer on this rank's shard of every bucket, and the global gradient norm. With 16-bit
// parameters, a float32 master copy is stepped (Micikevicius et al. 2018). With
// optimizer.params.stochastic_rounding the weights are that copy rounded at random, by words of
// (run.seed, tensor, step, element index).
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "src/config/config.hpp"
#include "src/state/offload/offload_store.hpp"
#include "src/state/optimizer/groups.hpp"
#include "src/state/optimizer/host_step.hpp"
#include "src/state/optimizer/orthogonalizer.hpp"
#include "src/state/optimizer/step_verdict.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Optimizer state of a range of a bucket's `stepped` elements.
struct StateView {
  FlatRange range;
  // By index in Optimizer::states(). Data of packed ones are bytes, which state_at() reads.
  std::array<BlockView, most_states> states;
  BlockView master;  // float32; only with 16-bit parameters
};

/// A range of a bucket's elements stepped with the same options.
struct SteppedRun {
  FlatRange range;
  TensorOptions options;
  int parameter = 0;  // first parameter of the range, in the bucket
};

/// Location of optimizer state that is not kept in memory, and the number of sub-groups in memory
/// at once.
struct StateBuffers {
  OffloadLocation location = {};
  int count = 1;
};

/// Options that change from step to step.
struct StepOptions {
  double learning_rate = 0.0;
  double beta1 = 0.9, beta2 = 0.999;
  std::int64_t step = 1;  // counted from 1
};

/// Bytes of optimizer state: kept in memory, in a store, and in the store's buffers. `moments`: all
/// state tensors but the master weights.
struct OptimizerBytes {
  std::int64_t moments = 0, master = 0;
  std::int64_t stored_moments = 0, stored_master = 0;
  std::int64_t buffers = 0;
  // Device runs: the share of the kept state on the host, and the buffers to step it there.
  std::int64_t host_moments = 0, host_master = 0, host_step = 0;
  std::int64_t orthogonalization = 0;  // Orthogonalizer
  bool operator==(const OptimizerBytes&) const = default;
};
/// Bytes an Optimizer of these buckets with these `states` will hold; `options` describe the
/// parameters, `stored` the store.
OptimizerBytes optimizer_bytes(const std::vector<ParameterBlock>& blocks,
                               const std::vector<StateKind>& states, const StateOptions& options,
                               const StateBuffers& stored);

class Optimizer {
 public:
  /// `stored`: for sub-groups whose state is not kept in memory.
  Optimizer(ParameterStore& store, const OptimizerConfig& config, double gradient_clipping,
            const StateBuffers& stored = {});

  /// Returns the L2 norm of the whole model's gradient before clipping, and sets the clip factor of
  /// step(). Each tensor counts once, however it is sharded, replicated or tied. Collective over
  /// the grid. `loss_scale`: factor of the loss and hence of the gradients (fp16), removed from the
  /// norm. If the norm is not finite, step() changes nothing on any rank; it is NaN if `usable` is
  /// false on any rank.
  double gradient_norm(const Stream& stream, Communicator& world,
                       std::optional<double> loss_scale = {}, bool usable = true);
  /// True if steps need no host: nothing of them is on the host or a disk.
  bool decides_on_device() const;
  /// The same without waiting, if decides_on_device(): the device finds the clip factor and whether
  /// the step may change anything. `loss`: this rank's share of the loss, (1) float64 on the
  /// device; empty: none. A loss that is not finite makes the step unusable; after such a step
  /// nothing changes until rearm(). `all`: all ranks, for device memory.
  LateNumbers late_gradient_norm(const Stream& stream, Communicator& all,
                                 std::optional<double> loss_scale, const Tensor& loss);
  void rearm(const Stream& stream) const { verdict_.rearm(stream); }
  /// Sets a function that each step() calls before it changes anything. Nothing else changes
  /// parameters, master copy and states during a run: in a gather, each rank sends what its own
  /// steps made.
  void before_update(std::function<void()> wait) { before_update_ = std::move(wait); }
  // Directions of a bucket of matrices (BlockUse::orthogonal): first momentum() of each sub-group,
  // then the other three, as far as the plan has them; then step() takes the result.
  void momentum(const Stream& stream, int block, int part, const StepOptions& options);
  void gather_direction(const Stream& stream, int block);
  void orthogonalize(const Stream& stream, int block);
  void broadcast_direction(const Stream& stream, int block);
  /// Updates the `stepped` elements of a bucket, or one sub-group of them (`part`; -1: all).
  void step(const Stream& stream, int block, int part, const StepOptions& options);

  // State of a sub-group that is not kept in memory: available from wait_fetch() to start_store().
  // Error if the disk fails.
  void start_fetch(int block, int part) { offload_->start_read(unit(block, part)); }
  void wait_fetch(int block, int part) { offload_->wait_read(unit(block, part)); }
  void start_store(int block, int part) { offload_->start_write(unit(block, part)); }
  void wait_store(int block, int part) { offload_->wait_write(unit(block, part)); }

  /// The state of a bucket that stays in memory: all of it unless it is cut into sub-groups.
  const StateView& kept_state(int block) const { return kept_[static_cast<std::size_t>(block)]; }
  /// Calls visit(StateView) for all state of a bucket, wherever it is, piece by piece. Use between
  /// steps. With Access::replace a piece is zero first.
  template <class Visit>
  void visit_state(const Stream& stream, int block, Access access, Visit&& visit) {
    if (kept_state(block).range.count() > 0) visit(kept_state(block));
    const ParameterBlock& is = store_.blocks()[static_cast<std::size_t>(block)];
    for (int part = is.kept_parts; part < std::ssize(is.parts); ++part)
      offload_->visit(stream, unit(block, part), access, [&] { visit(state_of(block, part)); });
  }
  /// State tensors of each parameter.
  const std::vector<StateKind>& states() const { return states_; }
  /// Updates that the run had made when each state began at zero: not 0 if it resumed the
  /// checkpoint of another optimizer. Bias corrections count from there.
  using Starts = std::array<std::int64_t, most_states>;
  const Starts& starts() const { return starts_; }
  const TensorStarts& tensor_starts() const { return tensor_starts_; }
  /// The later of a state's and a tensor's start counts.
  void set_starts(const Starts& states, TensorStarts tensors = {});
  /// True if weights are not just their masters rounded to nearest.
  bool rounds_stochastically() const { return !numbers_.empty(); }
  bool has_master() const { return store_.type() != DType::f32; }
  /// The store of state that is not in memory; null: none.
  const OffloadStore* offload() const { return offload_.get(); }
  OptimizerBytes allocated() const;

 private:
  void keep_in_memory();
  void lay_out_runs();
  void sum_squares(const Stream& stream);
  void make_store(const StateBuffers& stored);
  int unit(int block, int part) const;
  std::optional<ElementNumbers> numbers(int block, const SteppedRun& run, std::int64_t begin,
                                        std::int64_t step) const;
  StateView state_of(int block, int part) const;
  UpdateTensors tensors_of(int block, const StateView& state, int parameter,
                           const FlatRange& range) const;
  bool on_host(const UpdateTensors& tensors) const;
  /// Calls visit(range, tensors, step) for the ranges that are stepped with the same options.
  template <class Visit>
  void each_run(int index, int part, const StepOptions& options, Visit&& visit);
  void update(const Stream& stream, const Tensor& direction, const UpdateTensors& tensors,
              const UpdateStep& step) const;

  ParameterStore& store_;
  OptimizerConfig config_;
  const OptimizerRule& rule_;
  std::vector<StateKind> states_;
  std::optional<WeightAverage> average_;
  Starts starts_{};
  TensorStarts tensor_starts_;
  double clip_;
  bool skip_ = false;  // the host knows that the gradients are not finite
  std::function<void()> before_update_ = [] {};
  // State kept in memory.
  struct StateMemory {
    Memory states, master;
  };
  StateMemory memory_,
      host_memory_;  // first: in the parameters' space; second: on the host, if that is another
  std::unique_ptr<HostStep> host_step_;
  std::unique_ptr<Orthogonalizer> orthogonalizer_;  // null: no bucket of matrices is stepped
  std::vector<StateView> kept_;                     // by bucket
  std::unique_ptr<OffloadStore> offload_;
  std::vector<int> first_unit_;  // by bucket: unit of its first sub-group that is not kept
  std::vector<std::vector<SteppedRun>> runs_;  // by bucket: ranges step() updates
  std::vector<std::vector<ElementNumbers>>
      numbers_;                                  // by bucket and parameter, for random rounding
  std::vector<std::vector<FlatRange>> counted_;  // by bucket: ranges the norm counts
  StepVerdict verdict_;
};

}  // namespace triax

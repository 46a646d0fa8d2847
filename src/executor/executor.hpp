// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a plan: one switch over its instructions. All memory is taken before the first step.
#include <optional>

#include "kernels/base/device/total.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/executor/batch_loader.hpp"
#include "src/executor/non_finite.hpp"
#include "src/executor/pair_numbers.hpp"
#include "src/executor/pipeline_messages.hpp"
#include "src/executor/run_ahead.hpp"
#include "src/executor/step_buffers.hpp"
#include "src/executor/step_recorder.hpp"
#include "src/model/stage/stage.hpp"
#include "src/schedule/plan.hpp"
#include "src/schedule/stage_layout.hpp"
#include "src/state/optimizer/optimizer.hpp"
#include "src/state/parameters/parameter_store.hpp"

namespace triax {

/// Activity of a rank as its ProgressBoard shows it; training and evaluation have a plan position
/// too.
enum class Activity : int { start_up, between_steps, training, evaluation };

/// Input of a step beside its plan.
struct StepInput {
  BatchLoader* batch = nullptr;  // loaded
  float loss_scale = 1.0F;       // 1 / label tokens of the global batch, times fp16_scale
  std::optional<double> fp16_scale;
  float z_coefficient = 0.0F;  // of the z-loss
  /// Loss of a batch of pairs; the loss scale is then 1 / pairs of the global batch, times
  /// fp16_scale.
  std::optional<PairLossOptions> pairs = {};
  bool makes_reference = false;  // writes BatchLoader::reference() instead of reading it
  std::uint64_t dropout_key = 0;
  float embedding_noise = 0.0F;
  StepOptions optimizer;  // unused by evaluation plans
  /// Receives the output of each layer, in a step that then changes nothing; null: a usual step.
  NonFiniteSearch* search = nullptr;
  /// Receives the times of each instruction; null: the step is not traced.
  OpStamps* stamps = nullptr;
};

struct StepOutput {
  double loss_sum =
      0.0;  // over this rank's micro-batches; on the last stage only, the same on its tensor ranks
  PairSums pairs{};        // likewise, of batches of pairs
  double grad_norm = 0.0;  // before clipping, on every rank; not finite if the loss is not: then
                           // the step changed nothing
  // Both numbers for the whole model, where the device decides about the step; above they are 0.
  LateNumbers late;
};

class Executor {
 public:
  /// `plan`: the verified plan of this stage, not copied. `optimizer`: null for evaluation plans.
  /// All references outlive the executor.
  Executor(const Stream& stream, const Plan& plan, const Stage& stage, const StageLayout& layout,
           const BatchShape& shape, StepBuffers& buffers, PipelineMessages& messages,
           ParameterStore& store, Optimizer* optimizer, ProcessGrid& grid);

  /// Bytes that it takes in the region "numbers" of the store's memory.
  static constexpr std::int64_t bytes() {
    return DeviceArena::footprint(sum_count * sizeof(double));
  }

  StepOutput run(const StepInput& input);
  const Plan& plan() const { return plan_; }
  const Stream& stream() const { return stream_; }
  const Stage& stage() const { return stage_; }

 private:
  static constexpr std::int64_t sum_count = 1 + pair_sums;  // the loss first
  void execute(const Op& op);
  void read_sums();
  Tensor loss_tensor() const { return sums_.tensor().slice(0, 0, 1); }
  std::string at_position(std::size_t at, const Error& error) const;
  void gradient_norm();
  void forward(const Op& op);
  void search_forward(const Op& op, const Tensor& y);
  void recompute(const Op& op);
  void backward(const Op& op);
  void weight_gradient(const Op& op);
  void partition_input(const Op& op);
  void gather_input(const Op& op);
  Context context(const Op& op);
  const PairBatch* pairs_of(const Op& op);

  const Stream& stream_;  // runs the compute kernels
  const Plan& plan_;
  const Stage& stage_;
  StageLayout layout_;
  BatchShape shape_;
  StepBuffers& buffers_;
  PipelineMessages& messages_;
  ParameterStore& store_;
  Optimizer* optimizer_;
  ProcessGrid& grid_;
  const StepInput* input_ = nullptr;  // of the running step
  StepOutput output_;
  Total sums_;
  PairBatch pairs_;  // of the micro-batch of the running instruction
  RunAhead ahead_;
};

}  // namespace triax

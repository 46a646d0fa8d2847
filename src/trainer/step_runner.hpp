// SPDX-License-Identifier: Apache-2.0
#pragma once
// One training step of a rank: batch, plan, numbers.
//
// Where the device decides whether a step is used (Optimizer::decides_on_device), its numbers come
// late: a run finishes the step while the next one runs, and assumes until then that it was
// applied. If it was skipped, the device keeps the next step from changing anything, and that step
// is repeated.
#include <chrono>
#include <cstdint>

#include "io/metrics/metrics_writer.hpp"
#include "src/executor/executor.hpp"
#include "src/executor/non_finite.hpp"
#include "src/recipe/loss_scaler.hpp"
#include "src/trainer/rank_state.hpp"
#include "src/trainer/step_share.hpp"

namespace triax {

class StepRunner {
 public:
  using Clock = std::chrono::steady_clock;

  /// A step under way.
  struct RunningStep {
    StepInput input;
    StepOutput output;
    StepMetrics metrics;    // without the numbers
    double loss_sum = 0.0;  // of the whole model
    PairSums pairs{};       // likewise
    LabelCounts labels;     // of the global batch
    std::int64_t terms =
        0;  // in the mean of the loss: label tokens or pairs; 0: the plan is not run
    std::int64_t sample = 0;
    Clock::time_point begin;
    /// Whether loss and gradient norm are still on the device.
    bool pending() const { return output.late.pending(); }
  };

  /// `trace`: steps whose instructions are timed.
  StepRunner(RankState& rank, const TraceSteps& trace);

  /// Reads the batch that begins with sample `sample` and runs the plan. `step` counts from 0;
  /// `tokens`: trained on after it. `behind_pending`: the numbers of the step before are not known,
  /// and it is assumed to be applied.
  RunningStep start(std::int64_t step, std::int64_t sample, std::int64_t tokens,
                    bool behind_pending);
  /// Collective. Exchanges the step summary: `own` without its loss sum in, that of all ranks out.
  /// Fills in the step's traffic and its loss sum.
  StepSummary exchange(RunningStep& running, StepSummary own);
  /// Waits for loss and gradient norm, where they are pending. Returns the metrics of the step.
  StepMetrics numbers(const RunningStep& running);
  /// Runs a skipped step once more, which changes nothing, and returns the name of the
  /// first layer whose output or gradient was not finite. Collective. `reload`: another batch has
  /// been loaded since.
  std::string first_non_finite(const RunningStep& running, bool reload);

  /// Seconds of work between the last exchange and the end of a step that begins now.
  double seconds_ahead(const RunningStep& running, bool last) const;
  /// Whether all weights are finite. Collective.
  bool weights_are_finite() const;

  LossScaler& loss_scaler() { return loss_scaler_; }
  const LossScaler& loss_scaler() const { return loss_scaler_; }
  const Plan& plan() const { return executor_.plan(); }
  /// Times of the instructions of run.trace_steps.
  StepRecorder& recorder() { return recorder_; }

 private:
  void load_batch(std::int64_t sample);
  LabelCounts count_labels();
  StepInput input(std::int64_t step, const LossScaler& scaler, const RunningStep& running);
  void sum_pairs(RunningStep& running);

  RankState& rank_;
  StepShare share_;
  FiniteTest finite_;
  Executor executor_;
  StepRecorder recorder_;
  LossScaler loss_scaler_;
  Clock::time_point finished_;  // the end of the step before
  double last_seconds_ = 0.0;   // of the step before
};

}  // namespace triax

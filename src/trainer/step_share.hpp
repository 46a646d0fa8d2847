// SPDX-License-Identifier: Apache-2.0
#pragma once
// Step summary exchanged between ranks at the end of each step.
#include <array>
#include <chrono>

#include "io/metrics/metrics_writer.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/launch/run_requests.hpp"
#include "src/trainer/report/straggler.hpp"

namespace triax {

/// Summary of one rank; exchanged, of all ranks: sums and maxima.
struct StepSummary {
  double loss_sum = 0.0;
  RunRequest request = RunRequest::none;  // the weightiest
  bool writing = false;                   // a checkpoint is being written
  MessageShare messages{};                // filled in by StepShare::share()
};

class StepShare {
 public:
  /// `grid` outlives the object.
  explicit StepShare(ProcessGrid& grid) : grid_(grid) {}

  /// Called before the step.
  void begin();
  /// Called after the step. Collective. Fills in the traffic of the step, summed over ranks, and
  /// the largest memory of any rank.
  StepSummary share(const StepSummary& own, StepMetrics& metrics);

 private:
  ProcessGrid& grid_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::array<Traffic, all_axes.size()> before_{};  // sent before the step, by axis
};

}  // namespace triax

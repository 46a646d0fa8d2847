// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bad steps: their loss or gradient is not finite. They change nothing. Too many in a row end a
// run, and so does one at its end.
#include <cstdint>
#include <string>

#include "io/metrics/metrics_writer.hpp"
#include "kernels/base/check.hpp"
#include "src/recipe/loss_scaler.hpp"

namespace triax {

class BadSteps {
 public:
  /// `scaler`: at the beginning of the run.
  explicit BadSteps(const LossScaler& scaler) : before_(scaler) {}
  /// Called after each step, on every rank alike. `scaler`: for the next step. An overflow in the
  /// search for a dynamic scale is no bad step.
  void count(const StepMetrics& metrics, const LossScaler& scaler);
  /// Bad steps in a row, up to now.
  std::int64_t in_a_row() const { return in_a_row_; }
  /// Whether there are bad steps in a row, and none of them had a finite loss.
  bool losses_not_finite() const { return in_a_row_ > 0 && finite_losses_ == 0; }
  /// Loss scaler before these bad steps.
  const LossScaler& scaler_before() const { return before_; }
  /// Error that ends a run after `steps_done` steps. `checkpoint`: what a user must know of its
  /// checkpoints ("there is no checkpoint: disk full"), or empty.
  Error error(std::int64_t steps_done, const std::string& checkpoint) const;
  /// Why no checkpoint is written after `steps_done` steps, in the middle of bad steps. `first`:
  /// the run began with them; otherwise the weights before them are not finite.
  std::string nothing_to_save(std::int64_t steps_done, bool first) const;
  /// Error that ends a run whose last update, in step `steps_done`, broke the weights.
  static Error error_of_weights(std::int64_t steps_done);

 private:
  std::int64_t in_a_row_ = 0;
  std::int64_t finite_losses_ = 0;  // of bad steps in a row
  LossScaler before_;
};

}  // namespace triax

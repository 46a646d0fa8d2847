#pragma once
// Steps whose loss or gradient is not finite: they change nothing, and too many of them end a run,
// as does one that is the last.
#include <cstdint>
#include <string>

#include "io/metrics/metrics_writer.hpp"
#include "kernels/base/check.hpp"
#include "src/recipe/loss_scaler.hpp"

namespace triax {

class BadSteps {
 public:
  /// `scaler`: as a run begins with it.
  explicit BadSteps(const LossScaler& scaler) : before_(scaler) {}
  /// After each step, on every rank alike; `scaler`: as the next step takes it. An overflow by
  /// which a dynamic scale is found is not a bad step.
  void count(const StepMetrics& metrics, const LossScaler& scaler);
  /// Until now.
  std::int64_t in_a_row() const { return in_a_row_; }
  /// As it was before them.
  const LossScaler& scaler_before() const { return before_; }
  /// The end of a run of which `steps_done` are done. `unsaved`: why there is no checkpoint; empty:
  /// there is, or none was to be written.
  Error error(std::int64_t steps_done, const std::string& unsaved) const;
  /// Why amid them, behind `steps_done`, no state is worth a checkpoint. `first`: the run began
  /// with them; else the weights from before them are not finite.
  std::string nothing_to_save(std::int64_t steps_done, bool first) const;
  /// The end of a run whose last update, that of step `steps_done` - 1, broke the weights.
  static Error error_of_weights(std::int64_t steps_done);

 private:
  std::int64_t in_a_row_ = 0;
  LossScaler before_;
};

}  // namespace triax

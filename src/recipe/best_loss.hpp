// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lowest validation loss of a run, and its end when validation no longer improves.
#include <cstdint>
#include <string>

#include "src/config/ending.hpp"

namespace triax {

/// Hugging Face's EarlyStoppingCallback: a validation improves if its loss is below the lowest one
/// before it by more than a threshold; `patience` validations in a row that do not improve end the
/// run. A loss that is not finite is no improvement. All ranks count the same losses.
class BestLoss {
 public:
  explicit BestLoss(const EndingConfig& config) : config_(config) {}

  /// Called after each validation, after `steps` steps, of which the last `bad` changed nothing.
  /// Returns whether its loss is the lowest.
  bool count(std::int64_t steps, double loss, std::int64_t bad = 0);
  /// Whether the run ends now.
  bool ends() const { return config_.patience > 0 && without_ >= config_.patience; }
  /// Whether a loss has been counted.
  explicit operator bool() const { return steps_ >= 0; }
  /// Number of steps that led to the lowest loss, and that loss.
  std::int64_t steps() const { return steps_; }
  double loss() const { return loss_; }
  /// Validations since the last improvement.
  int without() const { return without_; }
  /// Number of steps before the last validation; -1: there was none.
  std::int64_t last() const { return last_; }

  /// State for a checkpoint, a JSON object.
  std::string state() const;
  /// Restores a state(). Any other text stands for a run that was not validated yet.
  void restore(const std::string& state);

 private:
  EndingConfig config_;
  std::int64_t steps_ = -1, last_ = -1;
  double loss_ = 0.0;
  int without_ = 0;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dynamic loss scale of training in float16 (Micikevicius et al. 2018), by DeepSpeed's rules.
#include <cstdint>
#include <string>

#include "src/config/config.hpp"

namespace triax {

class LossScaler {
 public:
  /// The scale stays 1 where `config` is not enabled.
  explicit LossScaler(const LossScaleConfig& config);

  /// Factor of the loss in the next step.
  double scale() const { return scale_; }
  bool enabled() const { return config_.enabled; }
  /// Number of steps whose gradients overflowed or that had no label token; they changed no weight.
  std::int64_t skipped() const { return skipped_; }
  /// Whether the scale is searched for, so that overflows are expected.
  bool dynamic() const { return config_.enabled && config_.fixed == 0.0; }
  /// Called after each step, on every rank alike. Error where a dynamic scale overflows at its
  /// minimum, and after the last step of a run that skipped all steps.
  void update(bool overflow);
  /// Called instead of update() after a step without a label token, which says nothing about the
  /// scale. Error after the last step of a run that skipped all steps.
  void pass_over();

  /// State for a checkpoint, a JSON object; "" if there is none. A run resumed without a scale
  /// keeps the count of skipped steps, because its learning rate does not count them.
  std::string state() const;
  /// Restores a state(); "" stands for a run without a scale. Error where the text is no state.
  void restore(const std::string& state);

 private:
  [[noreturn]] void throw_all_skipped() const;

  LossScaleConfig config_;
  double scale_ = 1.0;
  int hysteresis_left_ = 1;
  std::int64_t quiet_steps_ = 0;  // since the last overflow
  std::int64_t skipped_ = 0;
};

}  // namespace triax

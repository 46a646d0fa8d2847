#pragma once
// The dynamic loss scale of training in float16 (Micikevicius et al. 2018), by DeepSpeed's rules.
#include <cstdint>
#include <string>

#include "src/config/config.hpp"

namespace triax {

class LossScaler {
 public:
  /// 1 for ever where `config` is not enabled.
  explicit LossScaler(const LossScaleConfig& config);

  /// What the loss is multiplied with in the next step.
  double scale() const { return scale_; }
  bool enabled() const { return config_.enabled; }
  /// Steps whose gradients overflowed: they changed nothing.
  std::int64_t skipped() const { return skipped_; }
  /// Whether an overflow is how the scale is found, and not the run's fault.
  bool dynamic() const { return config_.enabled && config_.fixed == 0.0; }
  /// After each step, on every rank alike. Error where a dynamic scale overflows at its least, and
  /// after the last step of a run that skipped every one.
  void update(bool overflow);

  /// For a checkpoint: a JSON object; "" where there is nothing to say. A run that goes on without
  /// a scale keeps the count of skipped steps, which its learning rate leaves out.
  std::string state() const;
  /// Goes on from a state(); "" is a run without a scale. Error where the text is none.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loss spikes: each loss is compared with the median of the losses before it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// A loss compared with the losses before it.
enum class LossVerdict : std::uint8_t {
  none,         // no spike
  first_spike,  // the loss before was no spike
  spike,        // the loss before was a spike, too
  back,         // within reason again, after spikes
};
inline bool is_spike(LossVerdict verdict) {
  return verdict == LossVerdict::first_spike || verdict == LossVerdict::spike;
}

/// A loss is within reason if it is finite and at most `factor` times the median of the last
/// `window` losses within reason, or at most half a nat above it. Any other finite loss is a spike,
/// once `window` finite losses have been counted; a loss that is not finite is left to BadSteps.
/// Losses beyond reason never enter the median: a run that has diverged stays beyond reason until
/// it comes back. Steps that changed no weight are judged, but not counted. All ranks count the
/// same losses and get the same verdicts.
class LossSpikes {
 public:
  explicit LossSpikes(const LossSpikeConfig& config);

  /// Called after each step; allocates nothing. `used`: the step changed the weights.
  LossVerdict count(std::int64_t step, double loss, bool used);
  /// Whether a loss that is not counted, such as that of a validation, is within reason now.
  bool within_reason(double loss);
  /// Called after a validation whose loss is within reason: the weights after `steps` steps are
  /// sound, whatever the loss of the step that follows.
  void prove(std::int64_t steps) { within_ = std::max(within_, steps); }
  /// Last step whose loss was within reason, or number of steps proven by a validation; -1: none.
  /// A checkpoint of at most that many steps is known to be sound.
  std::int64_t within() const { return within_; }
  /// Whether the last loss was beyond reason.
  bool beyond() const { return beyond_; }
  /// Median that the last loss was compared with; 0: there was no loss before it.
  double median() const { return median_; }
  /// First of the spikes that continue, or that LossVerdict::back ended.
  std::int64_t first_spike() const { return first_spike_; }
  const LossSpikeConfig& config() const { return config_; }

  /// Counts a rollback because of the spike at `step`. Returns its number among those near this
  /// step (rollbacks are counted anew one window after the farthest spike). Returns 0 and changes
  /// nothing where max_rollbacks have been made.
  int count_rollback(std::int64_t step);

  /// State for a checkpoint, a JSON object.
  std::string state() const;
  /// Restores a state() after `steps` steps. Any other text stands for a run whose losses are not
  /// known and were within reason.
  void restore(const std::string& state, std::int64_t steps);
  /// Restores a state() of this run's own sound checkpoint, for a rollback: rollbacks stay counted.
  void go_back(const std::string& state, std::int64_t steps);

 private:
  double median_of_losses();

  LossSpikeConfig config_;
  std::vector<double> losses_;  // within reason, at most a window of them, the oldest first
  std::vector<double> sorted_;  // of median_of_losses()
  std::int64_t counted_ = 0;    // finite losses, up to a window
  std::int64_t last_ = -1;      // the step judged last
  std::int64_t within_ = -1;
  std::int64_t first_spike_ = -1;
  bool in_spikes_ = false;
  bool beyond_ = false;  // the loss judged last
  double median_ = 0.0;
  int rollbacks_ = 0;  // up to step place_end_
  std::int64_t place_end_ = -1;
};

}  // namespace triax

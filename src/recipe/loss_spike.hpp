// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loss spikes: each loss is compared with the median of the losses before it.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// A loss compared with the losses before it.
enum class LossVerdict : std::uint8_t {
  none,         // no spike
  first_spike,  // the loss before was no spike
  spike,        // the loss before was a spike, too
  back,         // within the spike limit again, after spikes
};
inline bool is_spike(LossVerdict verdict) {
  return verdict == LossVerdict::first_spike || verdict == LossVerdict::spike;
}

/// The spike limit is `factor` times the median of the last `window` losses within the limit, or
/// half a nat above that median where this is more. A finite loss beyond it is a spike, once
/// `window` finite losses have been counted; a loss that is not finite is beyond it, too, but left
/// to BadSteps. Losses beyond the limit never enter the median: a run that has diverged stays
/// beyond it until it comes back. Steps that changed no weight are judged, but not counted. All
/// ranks count the same losses and get the same verdicts.
class LossSpikes {
 public:
  explicit LossSpikes(const LossSpikeConfig& config);

  /// Called after each step; allocates nothing. `used`: the step changed the weights.
  LossVerdict count(std::int64_t step, double loss, bool used);
  /// Whether a loss that is not counted, such as that of a validation, is within the limit now.
  bool within_limit(double loss);
  /// Called after a validation whose loss is within the limit: the weights after `steps` steps are
  /// sound, whatever the loss of the step that follows.
  void prove(std::int64_t steps) { within_ = std::max(within_, steps); }
  /// Last step whose loss was within the limit, or number of steps proven by a validation; -1:
  /// none. A checkpoint of at most that many steps is known to be sound.
  std::int64_t within() const { return within_; }
  /// Whether the last loss was beyond the limit.
  bool beyond() const { return beyond_; }
  /// Median that the last loss was compared with; 0: there was no loss before it.
  double median() const { return median_; }
  /// Spike limit that the last loss was compared with. Infinity: there was no loss before it.
  double limit() const { return limit_; }
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
  /// known and were within the limit.
  void restore(const std::string& state, std::int64_t steps);
  /// Restores a state() of this run's own sound checkpoint, for a rollback: rollbacks stay counted.
  void go_back(const std::string& state, std::int64_t steps);

 private:
  double median_of_losses();
  double limit_above(double median) const;

  LossSpikeConfig config_;
  std::vector<double> losses_;  // within the limit, at most a window of them, the oldest first
  std::vector<double> sorted_;  // of median_of_losses()
  std::int64_t counted_ = 0;    // finite losses, up to a window
  std::int64_t last_ = -1;      // the step judged last
  std::int64_t within_ = -1;
  std::int64_t first_spike_ = -1;
  bool in_spikes_ = false;
  bool beyond_ = false;  // the loss judged last
  double median_ = 0.0;
  double limit_ = std::numeric_limits<double>::infinity();
  int rollbacks_ = 0;  // up to step rollbacks_end_
  std::int64_t rollbacks_end_ = -1;
};

}  // namespace triax

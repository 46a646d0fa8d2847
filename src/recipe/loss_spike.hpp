#pragma once
// The loss of each step beside those before it: whether it is within reason, and whether it is a
// spike.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// What a loss is to those before it.
enum class LossVerdict : std::uint8_t {
  none,         // no spike
  first_spike,  // behind a loss that was none
  spike,        // one more
  back,         // within reason again, behind spikes
};
inline bool is_spike(LossVerdict verdict) {
  return verdict == LossVerdict::first_spike || verdict == LossVerdict::spike;
}

/// A loss is within reason if it is finite and at most `factor` times the median of the last
/// `window` losses that were, or at most half a nat above it. Beyond that it is a spike, once
/// `window` finite losses have been counted. A loss beyond reason is never one of those that the
/// median is of: a run that has diverged stays beyond reason until it comes back. Steps that
/// changed nothing are judged, but not counted. All ranks count the same losses, and come to the
/// same.
class LossSpikes {
 public:
  explicit LossSpikes(const LossSpikeConfig& config);

  /// After each step, without allocating. `used`: the step changed the weights.
  LossVerdict count(std::int64_t step, double loss, bool used);
  /// The last step whose loss was within reason; -1: none. The weights of a checkpoint of at most
  /// so many steps have led to it.
  std::int64_t within() const { return within_; }
  /// Whether the last loss was beyond reason.
  bool beyond() const { return beyond_; }
  /// What the last loss was held against; 0: there was none before it.
  double median() const { return median_; }
  /// The first of the spikes that LossVerdict::back ended, or that go on.
  std::int64_t first_spike() const { return first_spike_; }
  const LossSpikeConfig& config() const { return config_; }

  /// One rollback more, because of the spike at `step`. Its number at this place, which ends a
  /// window of steps behind the farthest spike; 0, and nothing changes, where there have been
  /// max_rollbacks.
  int count_rollback(std::int64_t step);

  /// For a checkpoint: a JSON object.
  std::string state() const;
  /// Goes on behind `steps` steps from a state(); anything else counts as a run whose losses are
  /// not known, and were within reason.
  void restore(const std::string& state, std::int64_t steps);
  /// The same for a run that goes back to a checkpoint of its own, which is sound: its rollbacks
  /// stay counted.
  void go_back(const std::string& state, std::int64_t steps);

 private:
  double median_of_losses();

  LossSpikeConfig config_;
  std::vector<double> losses_;  // within reason, at most a window of them, the oldest first
  std::vector<double> sorted_;  // of median_of_losses()
  std::int64_t counted_ = 0;    // finite losses, up to a window
  std::int64_t last_ = -1;      // the step that was judged last
  std::int64_t within_ = -1;
  std::int64_t first_spike_ = -1;
  bool in_spikes_ = false;
  bool beyond_ = false;  // the loss that was judged last
  double median_ = 0.0;
  int rollbacks_ = 0;  // at the place that ends with this step
  std::int64_t place_end_ = -1;
};

}  // namespace triax

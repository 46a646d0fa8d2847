#pragma once
// What rank 0 tells of a run while it goes on: lines of metrics.jsonl, and progress for the eye.
#include "io/metrics/metrics_writer.hpp"
#include "src/config/config.hpp"
#include "src/trainer/progress.hpp"

namespace triax {

/// Whether metrics.jsonl ends with the step before `first_step`: a validation that came with it was
/// not made.
bool ends_before_validation(const Config& config, std::int64_t first_step);

/// A full disk does not end a run: the lines wait, which is said once.
class RunRecord {
 public:
  RunRecord(const Config& config, std::int64_t first_step);
  void step(const StepMetrics& metrics);
  void valid(std::int64_t step, double loss, std::int64_t tokens);
  void rollback(const RollbackMetrics& rollback);
  /// Whether metrics.jsonl has a validation of the step before the first.
  bool has_validation() const { return metrics_.has_validation(); }
  /// What was told is on disk, or a warning says why not.
  void sync() { close(false); }
  /// Before something else is said: ends the line of a progress bar.
  void pause() { progress_.pause(); }
  /// All lines on disk. Where some still wait: an Error if the run is done, else a warning, for the
  /// run is to go on from its checkpoint.
  void close(bool done);

 private:
  void tell_problem();

  std::int64_t steps_;  // of the run
  MetricsWriter metrics_;
  Progress progress_;
  bool told_ = false;
};

}  // namespace triax

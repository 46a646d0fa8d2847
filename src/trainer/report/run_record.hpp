// SPDX-License-Identifier: Apache-2.0
#pragma once
// Record of a running training run, on rank 0: lines of metrics.jsonl, and progress on the screen.
#include "io/metrics/metrics_writer.hpp"
#include "src/config/config.hpp"
#include "src/trainer/report/progress.hpp"

namespace triax {

/// Whether metrics.jsonl ends with the step before `first_step`, without the validation due after
/// it.
bool ends_before_validation(const Config& config, std::int64_t first_step);

/// A full disk does not end a run: lines wait in memory, and one warning says so.
class RunRecord {
 public:
  RunRecord(const Config& config, std::int64_t first_step);
  void step(const StepMetrics& metrics);
  void valid(std::int64_t step, double loss, std::int64_t tokens);
  void rollback(const RollbackMetrics& rollback);
  /// Whether metrics.jsonl has the validation after the step before the first.
  bool has_validation() const { return metrics_.has_validation(); }
  /// Brings all lines to the disk, or warns why not.
  void sync() { close(false); }
  /// Ends the line of a progress bar, before other output.
  void pause() { progress_.pause(); }
  /// Brings all lines to the disk. Where some cannot be written: Error if the run is done,
  /// otherwise a warning, as the run will continue from its checkpoint.
  void close(bool done);

 private:
  void log_problem();

  std::int64_t steps_;  // of the run
  MetricsWriter metrics_;
  Progress progress_;
  bool problem_logged_ = false;
};

}  // namespace triax

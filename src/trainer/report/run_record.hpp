// SPDX-License-Identifier: Apache-2.0
#pragma once
// Record of a running training run, on rank 0: lines of metrics.jsonl, files of monitors, and
// progress on the screen.
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "io/metrics/metrics_writer.hpp"
#include "src/config/config.hpp"
#include "src/config/outputs.hpp"
#include "src/executor/evaluator.hpp"
#include "src/trainer/report/progress.hpp"
#include "src/trainer/report/run_monitors.hpp"

namespace triax {

/// Whether metrics.jsonl ends with the step before `first_step`, without the validation due after
/// it.
bool ends_before_validation(const Config& config, std::int64_t first_step);

/// A full disk does not end a run: lines wait in memory, and one warning says so.
class RunRecord {
 public:
  RunRecord(const Config& config, const OutputConfig& outputs, std::int64_t first_step);
  void step(const StepMetrics& metrics);
  void valid(std::int64_t step, const HeldOutLoss& held_out, std::int64_t tokens);
  void rollback(const RollbackMetrics& rollback);
  /// Adds a line to events.jsonl.
  void event(const std::string& kind, const nlohmann::ordered_json& fields);
  /// Loss in metrics.jsonl of the validation after the step before the first; none: it is missing.
  std::optional<double> validation() const { return metrics_.validation(); }
  /// Brings all lines to the disk, or warns why not.
  void sync() { close(false); }
  /// Ends the line of a progress bar, before other output.
  void pause() { progress_.pause(); }
  /// Brings all lines to the disk. Where some cannot be written: Error if the run is done,
  /// otherwise a warning, as the run will continue from its checkpoint.
  void close(bool done);

 private:
  void log_problem();

  std::int64_t steps_;     // of the run
  std::string directory_;  // run.directory
  MetricsWriter metrics_;
  RunMonitors monitors_;
  Progress progress_;
  bool problem_logged_ = false;
};

}  // namespace triax

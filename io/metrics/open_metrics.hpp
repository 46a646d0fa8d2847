// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state of a run for monitors, in OpenMetrics' text format, which Prometheus reads too.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "io/metrics/metrics_writer.hpp"

namespace triax {

/// State of a run after a step.
struct RunState {
  StepMetrics step;
  std::int64_t steps = 0;            // of the run
  std::optional<double> valid_loss;  // the newest
  double seconds_left = 0.0;
  bool running = true;
};

/// The file's text. `run`: label of all samples. `time`: seconds since 1970.
std::string open_metrics_text(const RunState& state, const std::string& run, double time);

/// Replaces the file as a whole, at most once a second, so that a reader never sees half of it.
class OpenMetricsFile {
 public:
  OpenMetricsFile(std::string path, std::string run)
      : path_(std::move(path)), run_(std::move(run)) {}
  /// Writes the state, unless one was written less than a second ago and the run goes on. Returns
  /// why it could not; empty: no problem.
  std::string update(const RunState& state);

 private:
  std::string path_, run_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace triax

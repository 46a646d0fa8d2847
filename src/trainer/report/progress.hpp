// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress for the user: a bar on a terminal, otherwise a line every few steps. Rank 0 only.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "io/metrics/metrics_writer.hpp"

namespace triax {

/// "  margin 0.123  accuracy 0.75": of rewards; empty without pairs.
std::string pairs_text(const std::optional<PairMetrics>& pairs);

class Progress {
 public:
  /// `mode`: "auto" (a bar where standard error is a terminal, else lines), "bar", "lines" or
  /// "none".
  Progress(const std::string& mode, std::int64_t first_step, std::int64_t steps,
           std::int64_t steps_per_print);
  ~Progress();
  void step(const StepMetrics& metrics);
  /// Ends the bar's line, so that other output may follow.
  void pause();

 private:
  enum class Mode { bar, lines, none };
  void bar(const StepMetrics& metrics, double seconds_left);
  Mode mode_;
  std::int64_t first_step_, steps_, interval_;
  // Begin of this run's first step. Work before it, such as a validation left by the run before,
  // must not count in the estimate of the time left.
  std::optional<std::chrono::steady_clock::time_point> start_;
  bool bar_open_ = false;
};

}  // namespace triax

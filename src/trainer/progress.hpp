#pragma once
// What a user watches: a progress bar on a terminal, otherwise a line every few steps. Rank 0 only.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "io/metrics/metrics_writer.hpp"

namespace triax {

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
  // Where this run's first step began: what came before it, as a validation that the run before had
  // not made, says nothing of the steps.
  std::optional<std::chrono::steady_clock::time_point> start_;
  bool bar_open_ = false;
};

}  // namespace triax

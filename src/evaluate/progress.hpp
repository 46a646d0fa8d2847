// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of an evaluation on standard error.
#include <chrono>
#include <cstdint>
#include <string>

#include "kernels/base/process/status_line.hpp"

namespace triax {

/// "evaluate held.txt: 42%, 1200 documents, 83.1 documents/s, 8 s left". `passed`: share of the
/// documents, of which those before `begun` (share) were scored by an earlier evaluation; `items`:
/// scored in `seconds`.
std::string evaluation_progress(const std::string& task, double begun, double passed,
                                std::int64_t items, double seconds);

/// The status line of an evaluation.
class EvaluationProgress {
 public:
  explicit EvaluationProgress(bool shown) : line_(shown) {}
  /// A task begins or goes on at share `begun`.
  void begin(std::string task, double begun);
  void show(double passed, std::int64_t items);

 private:
  using Clock = std::chrono::steady_clock;
  StatusLine line_;
  std::string task_;
  double begun_share_ = 0.0;
  Clock::time_point begun_ = Clock::now();
};

}  // namespace triax

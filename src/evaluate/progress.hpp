// SPDX-License-Identifier: Apache-2.0
#pragma once
// Progress of an evaluation on standard error.
#include <chrono>
#include <cstdint>
#include <string>

namespace triax {

/// "evaluate held.txt: 42%, 1200 documents, 83.1 documents/s, 8 s left". `passed`: share of the
/// documents, of which those before `begun` (share) were scored by an earlier evaluation; `items`:
/// scored in `seconds`.
std::string evaluation_progress(const std::string& task, double begun, double passed,
                                std::int64_t items, double seconds);

/// On a terminal one line that is rewritten; elsewhere a line every 10 seconds.
class EvaluationProgress {
 public:
  explicit EvaluationProgress(bool shown);
  ~EvaluationProgress();
  EvaluationProgress(const EvaluationProgress&) = delete;
  EvaluationProgress& operator=(const EvaluationProgress&) = delete;
  /// A task begins or goes on at share `begun`.
  void begin(std::string task, double begun);
  void show(double passed, std::int64_t items);

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_, terminal_, open_ = false;
  std::string task_;
  double begun_share_ = 0.0;
  Clock::time_point begun_ = Clock::now(), last_ = begun_;
};

}  // namespace triax

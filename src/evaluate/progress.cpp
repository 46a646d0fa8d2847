// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace triax {

std::string evaluation_progress(const std::string& task, double begun, double passed,
                                std::int64_t items, double seconds) {
  const double rate = static_cast<double>(items) / std::max(seconds, 1e-3);
  std::string text = fmt::format("evaluate {}: {:.0f}%, {} documents, {:.1f} documents/s", task,
                                 100.0 * passed, items, rate);
  if (passed > begun)
    text += fmt::format(", {:.0f} s left", seconds / (passed - begun) * (1.0 - passed));
  return text;
}

void EvaluationProgress::begin(std::string task, double begun) {
  task_ = std::move(task);
  begun_share_ = begun;
  begun_ = Clock::now();
}

void EvaluationProgress::show(double passed, std::int64_t items) {
  if (!line_.due()) return;
  line_.show(evaluation_progress(task_, begun_share_, passed, items,
                                 std::chrono::duration<double>(Clock::now() - begun_).count()));
}

}  // namespace triax

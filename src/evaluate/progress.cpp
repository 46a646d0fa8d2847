// SPDX-License-Identifier: Apache-2.0
#include "src/evaluate/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernels/base/process/say.hpp"

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

EvaluationProgress::EvaluationProgress(bool shown)
    : shown_(shown), terminal_(::isatty(STDERR_FILENO) != 0) {}

EvaluationProgress::~EvaluationProgress() {
  if (open_) say_text("\r\033[K");
}

void EvaluationProgress::begin(std::string task, double begun) {
  task_ = std::move(task);
  begun_share_ = begun;
  begun_ = Clock::now();
}

void EvaluationProgress::show(double passed, std::int64_t items) {
  constexpr std::chrono::seconds line_interval{10};
  const Clock::time_point now = Clock::now();
  if (!shown_ || (!terminal_ && now - last_ < line_interval)) return;
  last_ = now;
  const std::string text = evaluation_progress(task_, begun_share_, passed, items,
                                               std::chrono::duration<double>(now - begun_).count());
  if (terminal_) {
    say("\r\033[K{}", text);
    open_ = true;
  } else {
    say("{}\n", text);
  }
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "kernels/base/process/say.hpp"

namespace triax {
namespace {

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

}  // namespace

std::string pairs_text(const std::optional<PairMetrics>& pairs) {
  return pairs ? fmt::format("  margin {:.3f}  accuracy {:.2f}", pairs->margin(), pairs->accuracy)
               : std::string();
}

Progress::Progress(const std::string& mode, std::int64_t first_step, std::int64_t steps,
                   std::int64_t steps_per_print)
    : first_step_(first_step),
      steps_(steps),
      interval_(std::max<std::int64_t>(1, steps_per_print)) {
  if (mode == "none")
    mode_ = Mode::none;
  else
    mode_ =
        mode == "bar" || (mode == "auto" && isatty(STDERR_FILENO) != 0) ? Mode::bar : Mode::lines;
}

Progress::~Progress() {
  pause();
}

void Progress::pause() {
  if (bar_open_) say_text("\n");
  bar_open_ = false;
}

void Progress::step(const StepMetrics& metrics) {
  if (mode_ == Mode::none) return;
  const auto now = std::chrono::steady_clock::now();
  if (!start_)
    start_ = now - std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(metrics.step_seconds));
  const std::chrono::duration<double> elapsed = now - *start_;
  const auto done = static_cast<double>(metrics.number() - first_step_);
  const double left = elapsed.count() / done * static_cast<double>(steps_ - metrics.step - 1);
  if (mode_ == Mode::bar) return bar(metrics, left);
  const bool last = metrics.number() == steps_;
  if (metrics.number() % interval_ != 0 && metrics.step != first_step_ && !last) return;
  const std::string norm = metrics.skipped ? (metrics.loss_scale ? "overflows" : "not finite")
                                           : fmt::format("{:.3f}", metrics.grad_norm);
  say("step {:>6}/{}  loss {:.4f}{}  grad norm {}  lr {:.3g}  {:.0f} tokens/s  {} left\n",
      metrics.number(), steps_, metrics.loss, pairs_text(metrics.pairs), norm, metrics.lr,
      metrics.tokens_per_second, duration(left));
}

void Progress::bar(const StepMetrics& metrics, double seconds_left) {
  constexpr int width = 30;
  const auto full = static_cast<int>(width * metrics.number() / steps_);
  std::string cells(static_cast<std::size_t>(full), '=');
  cells.resize(width, ' ');
  say("\r[{}] {}/{}  loss {:.4f}{}  {:.0f} tokens/s  {} left \033[K", cells, metrics.number(),
      steps_, metrics.loss, pairs_text(metrics.pairs), metrics.tokens_per_second,
      duration(seconds_left));
  bar_open_ = true;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/progress.hpp"

#include <unistd.h>

#include <algorithm>

#include "kernels/base/process/say.hpp"

namespace triax {

std::string progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                          double seconds) {
  const auto whole = static_cast<double>(std::max<std::int64_t>(total, 1));
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
  std::string text =
      fmt::format("{}: {:.0f}% of {:.2f} GB, {:.1f} MB/s", name,
                  100.0 * static_cast<double>(done) / whole, whole / 1e9, rate / 1e6);
  if (rate > 0) text += fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
  return text;
}

ProgressLine::ProgressLine(std::string name, std::int64_t total, bool shown)
    : name_(std::move(name)),
      total_(total),
      shown_(shown),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (open_) say_text("\r\033[K");
}

void ProgressLine::show(std::int64_t done) {
  constexpr std::chrono::seconds line_interval{10};
  const Clock::time_point now = Clock::now();
  if (!shown_ || (!terminal_ && now - last_ < line_interval)) return;
  last_ = now;
  const std::string text =
      progress_text(name_, done, total_, std::chrono::duration<double>(now - begun_).count());
  if (terminal_) {
    say("\r\033[K{}", text);
    open_ = true;
  } else {
    say("{}\n", text);
  }
}

}  // namespace triax

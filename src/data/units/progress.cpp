// SPDX-License-Identifier: Apache-2.0
#include "src/data/units/progress.hpp"

#include <unistd.h>

#include <algorithm>

#include "kernels/base/process/say.hpp"

namespace triax {

namespace {

double rate_of(std::int64_t done, double seconds) {
  return static_cast<double>(done) / std::max(seconds, 1e-3);
}

std::string time_left(std::int64_t left, double rate) {
  if (rate <= 0) return {};
  return fmt::format(", {:.0f} s left", static_cast<double>(left) / rate);
}

}  // namespace

std::string progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                          double seconds) {
  const auto whole = static_cast<double>(std::max<std::int64_t>(total, 1));
  const double rate = rate_of(done, seconds);
  return fmt::format("{}: {:.0f}% of {:.2f} GB, {:.1f} MB/s{}", name,
                     100.0 * static_cast<double>(done) / whole, whole / 1e9, rate / 1e6,
                     time_left(total - done, rate));
}

std::string number_progress_text(const std::string& name, std::int64_t done, std::int64_t total,
                                 double seconds) {
  const std::int64_t whole = std::max<std::int64_t>(total, 1);
  const double rate = rate_of(done, seconds);
  return fmt::format("{}: {}% of {}, {:.0f} per second{}", name, 100 * done / whole, whole, rate,
                     time_left(total - done, rate));
}

ProgressLine::ProgressLine(std::string name, std::int64_t total, bool shown, Text text)
    : name_(std::move(name)),
      total_(total),
      text_(text),
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
      text_(name_, done, total_, std::chrono::duration<double>(now - begun_).count());
  if (terminal_) {
    say("\r\033[K{}", text);
    open_ = true;
  } else {
    say("{}\n", text);
  }
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/data/units/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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
    : name_(std::move(name)), total_(total), text_(text), line_(shown) {}

void ProgressLine::show(std::int64_t done) {
  if (line_.due())
    line_.show(
        text_(name_, done, total_, std::chrono::duration<double>(Clock::now() - begun_).count()));
}

}  // namespace triax

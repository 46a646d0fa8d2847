// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>

namespace triax {

/// Seconds of a wait, without time in which this process was stopped. It must be polled often: a
/// gap between two calls counts as one second at most.
class Waited {
 public:
  double seconds() {
    constexpr double longest_pause = 1.0;
    const auto now = Clock::now();
    waited_ += std::min(longest_pause, std::chrono::duration<double>(now - last_).count());
    last_ = now;
    return waited_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double waited_ = 0.0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/timer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/base/process/quiet_thread.hpp"

namespace triax {

Timer::Timer(double seconds, std::function<void()> late) {
  constexpr double longest = 1e9;  // limit of what a clock can add to the present
  const std::chrono::duration<double> wait(std::min(seconds, longest));
  thread_ = start_quiet_thread([this, wait, late = std::move(late)] {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, wait, [&] { return over_; })) late();
  });
}

Timer::~Timer() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace triax

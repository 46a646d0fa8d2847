// SPDX-License-Identifier: Apache-2.0
#pragma once
// The strictest form of NCCL_LAUNCH_ORDER_IMPLICIT: a process runs its operations one after
// another, whatever the communicator, each only when the previous one is complete. A plan that
// relies on more concurrency of a GPU hangs here.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace triax::test {

class LaunchOrder {
 public:
  static LaunchOrder& of_process() {
    static LaunchOrder order;
    return order;
  }

  /// Number of the operation that starts now. One thread starts them all.
  std::uint64_t next() { return ++begun_; }
  /// advance: does as much of the operation's work as is ready, and returns true when all is done.
  void begun(std::uint64_t number, std::function<bool()> advance) {
    const std::lock_guard lock(mutex_);
    under_way_.emplace_back(number, std::move(advance));
  }
  /// Whether all earlier operations are complete. The device's work asks this, with the device
  /// locked.
  bool come_to(std::uint64_t number) {
    for (;;) {
      std::function<bool()> advance;
      {
        const std::lock_guard lock(mutex_);
        if (under_way_.empty() || under_way_.front().first >= number) return true;
        advance = under_way_.front().second;
      }
      if (!advance()) return false;
      const std::lock_guard lock(mutex_);
      under_way_.pop_front();
    }
  }

 private:
  std::uint64_t begun_ = 0;
  std::mutex mutex_;  // guards what follows
  std::deque<std::pair<std::uint64_t, std::function<bool()>>> under_way_;
};

}  // namespace triax::test

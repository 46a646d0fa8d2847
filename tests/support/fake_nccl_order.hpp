#pragma once
// NCCL_LAUNCH_ORDER_IMPLICIT at its strictest: of what a process has begun, in whichever
// communicators, one thing runs after another, and nothing before the one ahead of it is complete.
// A plan that needs more than that from a GPU hangs here.
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

  /// The place of what is begun now: one thread begins all.
  std::uint64_t next() { return ++begun_; }
  /// `advance`: does its work as far as it can be done now; true where that is all of it.
  void begun(std::uint64_t number, std::function<bool()> advance) {
    const std::lock_guard lock(mutex_);
    under_way_.emplace_back(number, std::move(advance));
  }
  /// Whether all before it is complete. Asked by work of the device, which it holds meanwhile.
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
  std::mutex mutex_;  // of what follows
  std::deque<std::pair<std::uint64_t, std::function<bool()>>> under_way_;
};

}  // namespace triax::test

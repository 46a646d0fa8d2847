#pragma once
// How far the host is ahead of a device in a step.
#include <array>
#include <cstddef>
#include <utility>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/schedule/plan.hpp"

namespace triax {

/// A device takes about a thousand kernels ahead, and holds the host up in the launch of the next:
/// nobody sees there that the device has stopped, or a message failed. So the host waits earlier,
/// where that is seen, with hundreds of kernels ahead.
class RunAhead {
 public:
  /// Of the instructions that launch kernels by tens: the host never is more than `most` ahead, and
  /// waits for none of the last `least`.
  static constexpr int interval = 4, points = 3;
  static constexpr int least = interval * points, most = least + interval;

  explicit RunAhead(WaitForDevice wait) : wait_(std::move(wait)) {}
  /// Behind each instruction. It only waits for what the host would have done by then, were the
  /// stream its own: what is proved of a plan holds with it.
  void behind(OpKind kind, const Stream& stream) {
    since_ += group_of(kind) == OpGroup::compute || kind == OpKind::Step;
    if (since_ < interval) return;
    since_ = 0;
    Event& oldest = events_[next_];
    next_ = (next_ + 1) % events_.size();
    wait_(oldest);
    oldest.record(stream);
  }

 private:
  WaitForDevice wait_;
  std::array<Event, points> events_;  // behind every `interval`-th, in a ring
  std::size_t next_ = 0;
  int since_ = 0;
};

}  // namespace triax

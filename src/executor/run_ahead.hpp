// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limit on how far the host runs ahead of a device within a step.
#include <array>
#include <cstddef>
#include <utility>

#include "src/comm/watchdog/device_wait.hpp"
#include "src/schedule/plan.hpp"

namespace triax {

/// CUDA queues about a thousand kernels and then blocks the host in the next launch, where a
/// stopped device or a failed message goes unnoticed. So the host waits earlier, with hundreds of
/// kernels queued, in a wait that the watchdog sees.
class RunAhead {
 public:
  /// Counted are instructions that launch tens of kernels each: the host is never more than `most`
  /// of them ahead, and never waits for the last `least`.
  static constexpr int interval = 4, points = 3;
  static constexpr int least = interval * points, most = least + interval;

  explicit RunAhead(WaitForDevice wait) : wait_(std::move(wait)) {}
  /// Called after each instruction. Waits only for work that a host stream would have finished by
  /// then, so that the proofs about a plan still hold.
  void behind(OpKind kind, const Stream& stream) {
    since_ +=
        group_of(kind) == OpGroup::compute || kind == OpKind::Step || kind == OpKind::Orthogonalize;
    if (since_ < interval) return;
    since_ = 0;
    Event& oldest = events_[next_];
    next_ = (next_ + 1) % events_.size();
    wait_(oldest);
    oldest.record(stream);
  }

 private:
  WaitForDevice wait_;
  std::array<Event, points> events_;  // after every `interval`-th instruction, in a ring
  std::size_t next_ = 0;
  int since_ = 0;
};

}  // namespace triax

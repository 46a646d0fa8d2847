// SPDX-License-Identifier: Apache-2.0
#pragma once
// Time stamps of the instructions of traced steps, in memory taken before the first step.
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "src/config/outputs.hpp"

namespace triax {

/// Nanoseconds of this node's monotonic clock.
inline std::int64_t stamp() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Begin and end of an instruction as the host saw them: on a device, of the calls that issue it.
struct OpStamps {
  std::int64_t begin = 0, end = 0;
};

class StepRecorder {
 public:
  /// `instructions`: of the plan.
  StepRecorder(const TraceSteps& steps, std::size_t instructions)
      : steps_(steps), instructions_(instructions), stamps_(length(steps, instructions)) {}

  const TraceSteps& steps() const { return steps_; }
  std::size_t instructions() const { return instructions_; }
  /// The stamps of a step: one for its batch, then one per instruction. Null for a step that is not
  /// traced.
  OpStamps* of(std::int64_t step) {
    if (!steps_.holds(step)) return nullptr;
    return stamps_.data() + static_cast<std::size_t>(step - steps_.first) * (instructions_ + 1);
  }
  /// Stamps of all steps, in order; zero for a step that was not made.
  std::span<const OpStamps> all() const { return stamps_; }
  /// Whether a step was made since clear().
  bool holds_any() const {
    for (std::size_t at = 0; at < stamps_.size(); at += instructions_ + 1)
      if (stamps_[at].end != 0) return true;
    return false;
  }
  void clear() { stamps_.assign(stamps_.size(), OpStamps{}); }

 private:
  static std::size_t length(const TraceSteps& steps, std::size_t instructions) {
    return static_cast<std::size_t>(steps.count()) * (instructions + 1);
  }

  TraceSteps steps_;
  std::size_t instructions_;
  std::vector<OpStamps> stamps_;
};

}  // namespace triax

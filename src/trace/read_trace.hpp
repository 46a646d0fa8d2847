// SPDX-License-Identifier: Apache-2.0
#pragma once
// trace.json read back: the instructions of all ranks in time.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/outputs.hpp"

namespace triax {

/// An instruction of one step on one rank. Times are in seconds from the trace's zero.
struct TracedOp {
  std::int64_t step = 0;
  int position = 0;  // in the plan
  double begin = 0.0, end = 0.0;
  std::string name;  // text_of(op)
  double seconds() const { return end - begin; }
};

/// One step of one rank, its batch included.
struct TracedStep {
  std::int64_t step = 0;
  double begin = 0.0, end = 0.0;
};

struct RankTrace {
  std::vector<TracedOp> ops;  // by step, then position
  std::vector<TracedStep> steps;
};

struct RunTrace {
  int ranks_per_node = 1;
  bool on_gpu = false;
  TraceSteps steps;
  std::vector<RankTrace> ranks;

  /// Mean seconds of a step, from the first rank's begin to the last rank's end.
  double step_seconds() const;
};

/// UsageError if there is no such file, or it is not a trace that triax wrote.
RunTrace read_trace(const std::string& path);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Timeline of one step: the plans of all stages run against a table of durations. Time is in
// seconds, from the step's begin.
#include <vector>

#include "src/schedule/plan.hpp"

namespace triax {

/// Times of one instruction.
struct OpTime {
  double holds = 0.0;     // the stage does nothing else
  double transfer = 0.0;  // of what a Start begins; its Wait waits for the end
};

/// Durations of instructions. Of a message between stages the sender's Start has the transfer time.
class OpTimes {
 public:
  virtual ~OpTimes() = default;
  virtual OpTime of(int stage, const Op& op) const = 0;
};

/// One instruction in time. `begin` is after all waiting for others.
struct OpInterval {
  std::size_t position = 0;  // in the stage's plan
  double begin = 0.0, end = 0.0;
};

/// Time of one stage by use; the sum is the stage's end.
struct StageTimes {
  double busy = 0.0;      // compute, and instructions that hold the stage
  double pipeline = 0.0;  // waits for messages of other stages, and for all stages at the norm
  double data = 0.0;      // waits for reductions and gathers
  double store = 0.0;     // waits for state and inputs in a store
  double end() const { return busy + pipeline + data + store; }
  std::vector<OpInterval> intervals = {};  // if requested: instructions that take time
  std::vector<OpInterval> waits = {};      // if requested: waiting before an instruction, or in it
};

struct Timeline {
  double makespan = 0.0;  // the last stage's end
  std::vector<StageTimes> stages;
  /// Share of all stages' time in which they wait for each other: (p - 1) / (p - 1 + m) for 1f1b
  /// and gpipe without other costs.
  double bubble() const;
  /// Share of all stages' time in which they are busy.
  double busy() const;
};

/// Runs the plans. A message begins when both ends have posted it and the messages before it on the
/// same way are done; reductions, gathers and transfers of a stage go one after another, beside
/// compute. Linear in the number of instructions. Throws std::logic_error if stages would wait for
/// ever, naming the instructions, or a Wait has no Start.
Timeline simulate(const Plans& plans, const PlanShape& shape, const OpTimes& times,
                  bool intervals = false);

}  // namespace triax

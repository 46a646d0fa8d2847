// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durations of instructions in a trace, as means over the ranks of a stage and the traced steps.
#include <map>
#include <vector>

#include "src/schedule/simulate/simulate.hpp"
#include "src/trace/read_trace.hpp"

namespace triax {

/// Durations of one instruction of a stage over its ranks and steps.
struct OpDurations {
  double sum = 0.0, least = 0.0, most = 0.0;
  int count = 0;
  void add(double seconds);
  double mean() const { return count > 0 ? sum / count : 0.0; }
};

/// Durations by [stage][position]. `stages`: of the ranks.
std::vector<std::vector<OpDurations>> durations(const RunTrace& trace,
                                                const std::vector<int>& stages, const Plans& plans);

/// Instructions have their mean durations. Transfers, and waits for them, take no time; where
/// stages meet (norm, tied sum), the rank that waited least gives the duration.
class MeasuredTimes : public OpTimes {
 public:
  MeasuredTimes(const RunTrace& trace, const std::vector<int>& stages, const Plans& plans);
  OpTime of(int stage, const Op& op) const override;

 private:
  std::vector<std::map<Op, double>> seconds_;  // by stage
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// One stage in time: its position in its plan, its clock, and what it has under way by itself.
#include <map>
#include <string>

#include "src/schedule/simulate/simulate.hpp"

namespace triax {

class StageClock {
 public:
  /// The plan must outlive the clock.
  StageClock(int stage, const Plan& plan, bool intervals)
      : stage_(stage), plan_(&plan), intervals_(intervals) {}

  bool at_end() const { return position_ == plan_->size(); }
  const Op& op() const { return (*plan_)[position_]; }
  double now() const { return now_; }
  const StageTimes& times() const { return times_; }
  StageTimes take_times() { return std::move(times_); }
  /// "stage 1, op 37 (recv act c0 m1 wait)"
  std::string place() const;

  /// Lets time pass to `until`, counted as waiting of a kind.
  void wait(double until, double StageTimes::*kind);
  /// Holds the stage for the current instruction, and moves to the next.
  void pass(double seconds);

  /// An instruction that concerns this stage alone: everything but messages between stages, sums
  /// over stages and exchanges. Throws std::logic_error if it is a Wait without Start.
  void run(const OpTime& time);

 private:
  void start(const OpTime& time, double& stream);
  void finish(OpKind start, double StageTimes::*kind);

  int stage_;
  const Plan* plan_;
  bool intervals_;
  std::size_t position_ = 0;
  double now_ = 0.0;
  double data_free_ = 0.0, store_free_ = 0.0;  // ends of the last transfers of both kinds
  std::map<Op, double> under_way_;             // ends, by the Start without its micro-batch
  StageTimes times_;
};

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Least seconds and bytes of a layout, without its plan.
#include <map>
#include <tuple>

#include "src/machine/machine.hpp"
#include "src/plan/placement.hpp"
#include "src/planner/candidate.hpp"
#include "src/planner/parameter_bytes.hpp"

namespace triax {

class Bounds {
 public:
  /// `job`: on one rank. Both outlive the object.
  Bounds(const Config& job, const Machine& machine)
      : job_(job), machine_(machine), of_one_(parameter_bytes(job)) {}

  /// Seconds that no plan of the layout is quicker than, if its stages have equal work (the
  /// partition balances them; 5% are taken off for what it leaves).
  double seconds(const Candidate& candidate);
  /// Bytes that a rank of the fullest stage holds at least: state, and frames of an average stage
  /// in the schedule's first stage; 10% are taken off for padding and rounding.
  double bytes(const Candidate& candidate);

 private:
  // One tensor rank's share of the model's layers on a micro-batch.
  struct Share {
    double forward = 0.0, backward = 0.0, attention = 0.0;  // seconds of an average block
    double ends = 0.0;                                      // seconds of embedding and head
    double block_elements = 0.0, end_elements = 0.0;        // parameters of a block; of the first
    double frame = 0.0, boundary = 0.0;                     // bytes
  };
  const Share& share(const Candidate& candidate);
  Share make_share(const Candidate& candidate) const;
  double message_bound(const Candidate& candidate, const Share& share) const;

  const Config& job_;
  const Machine& machine_;
  const ParameterBytes of_one_;
  std::map<std::tuple<int, std::int64_t, Recompute>, Share> shares_;
};

}  // namespace triax

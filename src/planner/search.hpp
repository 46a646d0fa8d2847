// SPDX-License-Identifier: Apache-2.0
#pragma once
// The quickest layouts of a job, by branch and bound.
#include <functional>
#include <vector>

#include "src/planner/evaluate.hpp"

namespace triax {

struct Search {
  /// The quickest layout of each of the quickest grids, at most as many as requested.
  std::vector<Evaluation> best;
  /// Layouts by their fate: all of them; too large by their least bytes, or by their plan;
  /// refused by the job; slower by their least seconds; priced.
  std::size_t layouts = 0, too_large = 0, refused = 0, slower = 0, priced = 0;
  bool cut = false;  // so many plans were made that the search stopped
  /// Least bytes of the layouts that their bounds exclude; 0: none.
  double least_bytes = 0.0;
  /// The leanest of the layouts whose plan does not fit, with the reason; none: no reason.
  Evaluation leanest;
};

/// Plans are made in the order of their least seconds, until none that is left can be among the
/// best. `evaluate`: see LayoutEvaluator. Memory that a layout lacks, another lacks too that has
/// larger micro-batches or shards, recomputes and offloads less. At most `plans` plans are made.
Search search(const std::vector<Candidate>& layouts, const Config& job, const Machine& machine,
              std::size_t top, const std::function<Evaluation(const Candidate&)>& evaluate,
              std::size_t plans = 1500);

}  // namespace triax

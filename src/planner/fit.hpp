// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least that a job needs: memory of a rank, and ranks.
#include <functional>
#include <optional>
#include <vector>

#include "src/planner/evaluate.hpp"

namespace triax {

/// Layout of the least memory in the scarcer place, without offload or with any; none: the job has
/// no such layout on these ranks. `evaluate` must have no limit of memory.
std::optional<Evaluation> leanest(const std::vector<Candidate>& layouts, const Config& job,
                                  const Machine& machine, bool offload,
                                  const std::function<Evaluation(const Candidate&)>& evaluate);

/// Least power of two of ranks, at most `most`, on which the leanest layout fits the machine.
std::optional<Evaluation> fewest_ranks(const JobToPlan& job, const Machine& machine, bool offload,
                                       int most);

/// Both, as sentences: the least memory on `ranks` ranks, and the fewest ranks of the machine.
std::string fit_text(const JobToPlan& job, const Machine& machine, int ranks);

}  // namespace triax

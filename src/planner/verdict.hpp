// SPDX-License-Identifier: Apache-2.0
#pragma once
// Phrase that says why a layout loses against the best.
#include <string>

#include "src/planner/evaluate.hpp"

namespace triax {

/// "3.1% slower: the pipeline waits 8.0% of the time, not 4.6%". Names the largest difference: the
/// pipeline's waits, waits for reductions and gathers, waits for offloaded state, work that is
/// computed again, or slower products and tensor messages.
std::string verdict(const Evaluation& other, const Evaluation& best);

}  // namespace triax

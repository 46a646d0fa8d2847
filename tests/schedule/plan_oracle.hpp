// SPDX-License-Identifier: Apache-2.0
#pragma once
// An independent check of what verify() says after two neighbouring instructions are swapped: from
// the objects that each instruction reads and writes, and from a search for cycles in the graph of
// waits.
#include "src/schedule/plan.hpp"

namespace triax::test {

/// Whether the two instructions share no object, or both only read it, or both only add to it:
/// their order does not matter to their stage.
bool independent(const PlanShape& shape, int stage, const Op& a, const Op& b);

/// Whether in each window in which a gradient is whole (ZeRO-2) the micro-batch that opened it is
/// the first to write each layer's gradient.
bool windows_begin_with_their_microbatch(const PlanShape& shape, int stage, const Plan& plan);

/// Whether the next compute instruction after each Recompute is its Backward, as a plan requires.
bool recomputes_stand_before_backward(const Plan& plan);

/// Whether some stage waits forever, if sends wait for their receives, and exchanges for all their
/// other ends. The plans must have every message at both ends.
bool deadlocks(const Plans& plans);

/// Whether between any two stages the n-th message that one sends is the n-th that the other
/// receives from it.
bool messages_meet(const Plans& plans);

}  // namespace triax::test

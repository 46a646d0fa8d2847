#pragma once
// A second opinion on what verify() says of two neighbouring instructions that changed places, by
// another way: what each instruction reads and writes, and whether the graph of all waiting has a
// circle.
#include "src/schedule/plan.hpp"

namespace triax::test {

/// The two instructions touch nothing in common, or only read it, or only add to it: the order of
/// the two does not matter to their stage.
bool independent(const PlanShape& shape, int stage, const Op& a, const Op& b);

/// In each window in which a gradient is whole (ZeRO 2), the micro-batch that it was opened for is
/// the first to write each layer's part.
bool windows_begin_with_their_microbatch(const PlanShape& shape, int stage, const Plan& plan);

/// Behind each Recompute the next compute instruction is its Backward, as the format of a plan has
/// it.
bool recomputes_stand_before_backward(const Plan& plan);

/// Some stage waits for ever, if sends wait for their receives, and exchanges for all their other
/// ends. The plans must have every message at both ends.
bool deadlocks(const Plans& plans);

/// Between two stages the n-th message that one sends is the n-th that the other receives from
/// there.
bool messages_meet(const Plans& plans);

}  // namespace triax::test

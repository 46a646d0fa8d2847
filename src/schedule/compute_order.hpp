// SPDX-License-Identifier: Apache-2.0
#pragma once
// A schedule by hand: the order of compute on whole chunks, as text.
#include <string>

#include "src/schedule/plan.hpp"

namespace triax {

/// Text of chunk-level plans, CSV: "stage,operation,chunk,microbatch", then a line per instruction.
/// The operation is F (Forward), B (Backward) or W (WeightGradient).
std::string text_of_order(const Plans& order);

/// The plans of such a text: the instructions of a stage run in the order of its lines, wherever
/// those of other stages stand. Blank lines, text behind a #, blanks around fields, carriage
/// returns and a byte order mark are passed over. std::invalid_argument ("line 7: ...") for
/// anything else.
Plans order_of_text(const std::string& text);

/// Whether some instruction is a WeightGradient; then each Backward has one.
bool splits_backward(const Plans& order);

/// Checks that the order is whole and runs to its end: each chunk and micro-batch has its
/// instructions once, micro-batches of a chunk in their order (so that gradients are summed in the
/// same order as in every schedule), and no stage waits forever. std::invalid_argument names the
/// instruction, as in "stage 1 waits forever before B c0 m2: it needs F c0 m2 of stage 1, which
/// comes later".
void check_order(const Plans& order, int stages, int chunks, int microbatches);

}  // namespace triax

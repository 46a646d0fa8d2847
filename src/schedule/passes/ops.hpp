// SPDX-License-Identifier: Apache-2.0
#pragma once
// Instructions that several passes write.
#include "src/schedule/plan.hpp"

namespace triax {

/// Instruction on a whole block.
constexpr Op on_block(OpKind kind, int block) {
  return {.kind = kind, .block = block};
}

/// GatherStart or GatherWait of a block, or of one of its pieces.
constexpr Op gather_of(OpKind kind, int block, int piece = all) {
  return {.kind = kind, .block = block, .part = piece};
}

}  // namespace triax

#pragma once
// What the passes write most.
#include "src/schedule/plan.hpp"

namespace triax {

/// An instruction on a block.
constexpr Op on_block(OpKind kind, int block) {
  return {.kind = kind, .block = block};
}

/// GatherStart or GatherWait of a block, or of one piece of it.
constexpr Op gather_of(OpKind kind, int block, int piece = all) {
  return {.kind = kind, .block = block, .part = piece};
}

}  // namespace triax

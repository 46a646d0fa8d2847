#pragma once
// What the passes write most.
#include "src/schedule/plan.hpp"

namespace triax {

/// An instruction on a block.
constexpr Op on_block(OpKind kind, int block) {
  return {.kind = kind, .block = block};
}

}  // namespace triax

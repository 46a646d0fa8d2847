// SPDX-License-Identifier: Apache-2.0
// Backward passes that no trained parameter needs, and their messages.
#include "src/schedule/passes/passes.hpp"

namespace triax {
namespace {

// Whether a chunk-level instruction of a training plan is needed. `chunk`: its global chunk.
bool needed(const Op& op, int chunk, const ModelLayer& first_trained) {
  switch (op.kind) {
    case OpKind::Backward:
    case OpKind::WeightGradient:
    case OpKind::RecvGradientStart:
    case OpKind::RecvGradientWait:
      return chunk >= first_trained.chunk;
    case OpKind::SendGradientStart:
    case OpKind::SendGradientWait:
      return chunk > first_trained.chunk;
    default:
      return true;
  }
}

}  // namespace

Plans drop_backwards(const Plans& plans, const PlanShape& shape) {
  if (shape.first_trained.chunk == 0) return plans;
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s) {
    Plan& plan = out[s];
    for (const Op& op : plans[s]) {
      if (!needed(op, op.chunk * shape.stages + s, shape.first_trained)) continue;
      const bool empty =
          op.kind == OpKind::ExchangeEnd && plan.back().kind == OpKind::ExchangeBegin;
      if (empty)
        plan.pop_back();
      else
        plan.push_back(op);
    }
  }
  return out;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
// Muon steps a matrix along the orthogonal factor of its momentum, which depends on the whole
// matrix. The shards of a bucket's momentum are gathered, each data rank orthogonalises some of the
// matrices (with its tensor ranks), and sends them to the others. All data ranks do so bucket by
// bucket, in the order of the Steps, so that one buffer serves all buckets.
#include "src/schedule/passes/ops.hpp"
#include "src/schedule/passes/passes.hpp"

namespace triax {

Plans add_orthogonalization(const Plans& plans, const PlanShape& shape) {
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s)
    for (const Op& op : plans[s]) {
      if (op.kind == OpKind::Step && shape.blocks[s][op.block].orthogonal) {
        out[s].push_back({.kind = OpKind::Momentum, .block = op.block, .part = op.part});
        if (shape.shards_optimizer()) out[s].push_back(on_block(OpKind::DirectionGather, op.block));
        out[s].push_back(on_block(OpKind::Orthogonalize, op.block));
        if (shape.data_parallel) out[s].push_back(on_block(OpKind::DirectionBroadcast, op.block));
      }
      out[s].push_back(op);
    }
  return out;
}

}  // namespace triax

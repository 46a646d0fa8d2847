#include "src/schedule/passes.hpp"
#include "src/schedule/passes/ops.hpp"

namespace triax {
Plans add_update(const Plans& plans, const PlanShape& shape) {
  Plans out = plans;
  if (shape.blocks.empty()) {
    for (Plan& plan : out) plan.push_back({.kind = OpKind::GradientNorm});
    return out;
  }
  for (int s = 0; s < shape.stages; ++s) {
    Plan& plan = out[s];
    const std::vector<BlockUse>& blocks = shape.blocks[s];
    const int count = static_cast<int>(blocks.size());
    // The tied sum comes last: it waits for another stage, and the reductions need not.
    for (int b = 0; b < count; ++b)
      if (blocks[b].tied) plan.push_back(on_block(OpKind::TiedSum, b));
    plan.push_back({.kind = OpKind::GradientNorm});
    const auto gathers = [&](int b) {
      return shape.shards_optimizer() && !shape.shards_parameters(blocks[b]);
    };
    for (int b = 0; b < count; ++b) {
      plan.push_back({.kind = OpKind::Step, .block = b, .part = all});
      if (gathers(b)) plan.push_back(on_block(OpKind::GatherStart, b));
    }
    for (int b = 0; b < count; ++b)
      if (gathers(b)) plan.push_back(on_block(OpKind::GatherWait, b));
  }
  return out;
}

}  // namespace triax

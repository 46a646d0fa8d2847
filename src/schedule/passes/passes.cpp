// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include "src/schedule/schedules.hpp"
#include "src/schedule/stage_layout.hpp"

namespace triax {

namespace {

// Whether the layer of an instruction has it.
bool has(const PlanShape& shape, int stage, const Op& op) {
  if (op.kind == OpKind::Backward) return shape.runs_backward(stage, op.chunk, op.layer);
  return op.kind != OpKind::WeightGradient || shape.defers_weights(stage, op.chunk, op.layer);
}

}  // namespace

Plans expand_layers(const Plans& plans, const PlanShape& shape) {
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s)
    for (Op op : plans[s]) {
      const bool compute = group_of(op.kind) == OpGroup::compute;
      const int layers = compute ? shape.layers[s][op.chunk] : 1;
      for (int i = 0; i < layers; ++i) {
        if (compute) op.layer = op.kind == OpKind::Forward ? i : layers - 1 - i;
        if (has(shape, s, op)) out[s].push_back(op);
      }
    }
  return out;
}

Plans add_recompute(const Plans& plans, const PlanShape& shape) {
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s)
    for (const Op& op : plans[s]) {
      const bool compute = op.kind == OpKind::Forward || op.kind == OpKind::Backward;
      const bool marked = compute && shape.recomputes(s, op.chunk, op.layer);
      if (marked && op.kind == OpKind::Backward)
        out[s].push_back({OpKind::Recompute, op.chunk, op.layer, op.microbatch});
      out[s].push_back(op);
      if (marked && op.kind == OpKind::Forward)
        out[s].push_back({OpKind::DropFrame, op.chunk, op.layer, op.microbatch});
    }
  return out;
}

Plans add_input_partition(const Plans& plans, const PlanShape& shape) {
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s)
    for (const Op& op : plans[s]) {
      const bool dropped = op.kind == OpKind::DropFrame;
      const bool marked =
          (dropped || op.kind == OpKind::Recompute) && shape.partitions(s, op.chunk, op.layer);
      if (marked && !dropped)
        out[s].push_back({OpKind::GatherInput, op.chunk, op.layer, op.microbatch});
      out[s].push_back(op);
      if (marked && dropped)
        out[s].push_back({OpKind::PartitionInput, op.chunk, op.layer, op.microbatch});
    }
  return out;
}

namespace {

// Drops frame and input after the Forward of the layers for which has_backward(layout, op) is
// false.
template <class HasBackward>
Plans add_drops(const Plans& plans, const PlanShape& shape, const HasBackward& has_backward) {
  Plans out(plans.size());
  for (int s = 0; s < shape.stages; ++s) {
    const StageLayout layout(shape, s);
    for (const Op& op : plans[s]) {
      out[s].push_back(op);
      if (op.kind != OpKind::Forward || has_backward(layout, op)) continue;
      out[s].push_back({OpKind::DropFrame, op.chunk, op.layer, op.microbatch});
      if (layout.has_input(op.chunk, op.layer))
        out[s].push_back({OpKind::DropInput, op.chunk, op.layer, op.microbatch});
    }
  }
  return out;
}

Plans add_messages(const Plans& plans, const PlanShape& shape) {
  return shape.matching == MessageMatching::by_order ? add_exchanges(plans, shape)
                                                     : add_point_to_point(plans, shape);
}

}  // namespace

Plans add_forward_drops(const Plans& plans, const PlanShape& shape) {
  return add_drops(plans, shape, [](const StageLayout&, const Op&) { return false; });
}

Plans add_frozen_drops(const Plans& plans, const PlanShape& shape) {
  return add_drops(plans, shape, [](const StageLayout& layout, const Op& op) {
    return layout.runs_backward(op.chunk, op.layer);
  });
}

Plans training_plans(const std::string& schedule, const PlanShape& shape) {
  Plans plans = make_schedule(schedule, shape);
  plans = add_messages(plans, shape);
  plans = drop_backwards(plans, shape);
  plans = expand_layers(plans, shape);
  plans = add_frozen_drops(plans, shape);
  plans = add_recompute(plans, shape);
  plans = add_input_partition(plans, shape);
  plans = add_input_offload(plans, shape);
  plans = add_gathers(plans, shape);
  plans = add_reduction(plans, shape);
  plans = add_update(plans, shape);
  plans = add_orthogonalization(plans, shape);
  plans = add_offload(plans, shape);
  return add_loads(plans, shape);
}

Plans evaluation_plans(const PlanShape& shape) {
  Plans plans = forward_only(shape);
  plans = add_messages(plans, shape);
  plans = expand_layers(plans, shape);
  plans = add_forward_drops(plans, shape);
  plans = add_gathers(plans, shape);
  return add_loads(plans, shape);
}

}  // namespace triax

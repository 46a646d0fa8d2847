#pragma once
// Passes: each adds one concern to the plans of all stages.
#include "src/schedule/plan.hpp"

namespace triax {

/// Chunk instructions become layer instructions, backward in reverse order.
Plans expand_layers(Plans plans, const PlanShape& shape);
/// Messages between neighbouring stages. A receive is posted one compute instruction ahead of its
/// use; a send is completed before the next of its direction starts, or at the end. Runs on
/// chunk-level plans (before expand_layers).
Plans add_point_to_point(Plans plans, const PlanShape& shape);
/// Drops the frame after the forward pass of the layers shape.recompute marks, and recomputes it before
/// their backward pass.
Plans add_recompute(Plans plans, const PlanShape& shape);
/// Forward-only plans: frames and inputs are given back at once.
Plans add_forward_drops(Plans plans, const PlanShape& shape);
/// Gradient reduction, as early as the last backward that writes a block; then norm, step and gather.
Plans add_update(Plans plans, const PlanShape& shape);

/// The whole training step: schedule `name` lowered by all passes the shape asks for.
/// std::invalid_argument where the schedule cannot be built for the shape (the text says why).
Plans training_plans(const std::string& schedule, const PlanShape& shape);
/// The forward-only counterpart.
Plans evaluation_plans(const PlanShape& shape);

}  // namespace triax

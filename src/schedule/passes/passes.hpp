#pragma once
// Passes: each adds one concern to the plans of all stages. The shape must have passed check_shape.
#include "src/schedule/plan.hpp"

namespace triax {

/// Messages between neighbouring stages, on chunk-level plans (before expand_layers). A receive is
/// posted before the compute instruction ahead of its use, so that the transfer overlaps it (the
/// first one of a stage, just before its use). A send is waited for just before the next of its
/// direction starts, or at the end; later only where the peer would not have posted its receive by
/// then (some of interleaved, and gpipe with several chunks, which would deadlock otherwise): more
/// than one send of a direction can be on its way. No deadlock, however little the network buffers:
/// passes/point_to_point.cpp has the proof. std::logic_error where a chunk needs what no other
/// makes.
Plans add_point_to_point(const Plans& plans, const PlanShape& shape);

/// The same messages where they match by their order alone, and one that waits for its other end
/// may hold up all behind it: in exchanges, which a message has at the same time at both ends,
/// right behind the instruction that makes what is sent. A send is waited for before the first
/// exchange behind the next compute instruction, or at the end, a receive just before its use. No
/// deadlock, also where a stage does one thing after another: passes/exchanges.cpp has the proof.
/// std::logic_error as above.
Plans add_exchanges(const Plans& plans, const PlanShape& shape);

/// Chunk instructions become layer instructions, backward in reverse order.
Plans expand_layers(const Plans& plans, const PlanShape& shape);

/// Drops the frame after the forward pass of the layers that shape.recompute marks, and recomputes
/// it before their backward pass. On layer-level plans.
Plans add_recompute(const Plans& plans, const PlanShape& shape);

/// Where shape.partition_inputs asks for it: keeps a part of the input of recomputed layers between
/// their Forward and their Recompute (Rajbhandari et al. 2020, ZeRO-R). After add_recompute.
Plans add_input_partition(const Plans& plans, const PlanShape& shape);

/// Where shape.offload_inputs asks for it: keeps those inputs, or their parts, on the host
/// meanwhile, as far as other compute lies between. After add_input_partition.
Plans add_input_offload(const Plans& plans, const PlanShape& shape);

/// Forward-only plans: frames and inputs are given back at once. On layer-level plans.
Plans add_forward_drops(const Plans& plans, const PlanShape& shape);

/// ZeRO 3: gathers a block's parameters ahead of the instructions that read them, and releases them
/// behind; in training and in forward-only plans. On layer-level plans, after add_recompute.
Plans add_gathers(const Plans& plans, const PlanShape& shape);

/// The sum of a block's gradient over the data axis, started right after the last backward that
/// writes it, so that it overlaps the backwards still to come. From ZeRO 2 on for each window of
/// micro-batches, into this rank's shard. On layer-level plans.
Plans add_reduction(const Plans& plans, const PlanShape& shape);

/// After all compute TiedSum, GradientNorm, Step, and the gathering of updated parameters where
/// they stay whole. After add_reduction.
Plans add_update(const Plans& plans, const PlanShape& shape);

/// Optimizer state in a store: the Step of a block becomes a Step for each part, its state fetched
/// before, and stored after. After add_update.
Plans add_offload(const Plans& plans, const PlanShape& shape);

/// Parameters in a store: a block's shard is loaded before it is gathered or stepped, ahead as far
/// as the limits allow, and saved after its Steps. In training and in forward-only plans, the last
/// pass.
Plans add_loads(const Plans& plans, const PlanShape& shape);

/// The whole training step: schedule `name` lowered by all passes the shape asks for.
/// std::invalid_argument where the schedule is unknown or cannot be built for the shape (the text
/// says why).
Plans training_plans(const std::string& schedule, const PlanShape& shape);

/// The forward-only counterpart.
Plans evaluation_plans(const PlanShape& shape);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes: each adds one concern to the plans of all stages. The shape must have passed check_shape.
#include "src/schedule/plan.hpp"

namespace triax {

/// Adds messages between neighbouring stages to chunk-level plans (before expand_layers). A receive
/// is posted before the compute instruction ahead of its use, so that the transfer overlaps it (the
/// first receive of a stage: just before its use). A send is waited for just before the next send
/// of its direction, or at the end; later only if the peer would not have posted its receive by
/// then (some of interleaved, and gpipe with several chunks, which would deadlock otherwise), so
/// that several sends of a direction may be in flight. No deadlock, however little the network
/// buffers: passes/point_to_point.cpp has the proof. Throws std::logic_error if no chunk makes what
/// another needs.
Plans add_point_to_point(const Plans& plans, const PlanShape& shape);

/// Adds the same messages for MessageMatching::by_order, where a waiting message may block
/// everything after it: in exchanges, right after the instruction that makes the data, at the same
/// time at both ends. A send is waited for before the first exchange after the next compute
/// instruction, or at the end; a receive just before its use. In the steady state of 1f1b an
/// exchange is the pair that Megatron-LM sends at once. Its sends overlap the next compute
/// instruction, and so do its receives unless that instruction reads them: an exchange ends as a
/// whole. No deadlock, even if a stage does one thing at a time: passes/exchanges.cpp has the
/// proof. Throws as add_point_to_point.
Plans add_exchanges(const Plans& plans, const PlanShape& shape);

/// Removes the backward passes of chunks before shape.first_trained, and the messages with
/// gradients to them. After the passes that add messages: what is left keeps its position, so that
/// a stage without backward passes runs no further ahead of the next one than with them, and keeps
/// no more outputs. Removing a message at both ends cannot make a deadlock.
Plans drop_backwards(const Plans& plans, const PlanShape& shape);

/// Replaces chunk instructions by layer instructions, in reverse order for Backward, which layers
/// before shape.first_trained do not have, and for WeightGradient, which layers without operands do
/// not have.
Plans expand_layers(const Plans& plans, const PlanShape& shape);

/// Drops the frame after the forward pass of the layers in shape.recompute, and recomputes it
/// before their backward pass. On layer-level plans.
Plans add_recompute(const Plans& plans, const PlanShape& shape);

/// If shape.partition_inputs: keeps only this tensor rank's part of a recomputed layer's input
/// between its Forward and its Recompute (Rajbhandari et al. 2020, ZeRO-R). After add_recompute.
Plans add_input_partition(const Plans& plans, const PlanShape& shape);

/// If shape.offload_inputs: keeps those inputs, or their parts, in host memory meanwhile, where
/// other compute lies between. After add_input_partition.
Plans add_input_offload(const Plans& plans, const PlanShape& shape);

/// Drops frames and inputs at once, in forward-only plans. On layer-level plans.
Plans add_forward_drops(const Plans& plans, const PlanShape& shape);
/// The same in training plans, of the layers without Backward.
Plans add_frozen_drops(const Plans& plans, const PlanShape& shape);

/// ZeRO-3: gathers a block's parameters ahead of the instructions that read them and releases them
/// after. On layer-level plans, training or forward-only, after add_recompute.
Plans add_gathers(const Plans& plans, const PlanShape& shape);

/// Sums a block's gradient over the data axis right after the last instruction that writes it, so
/// that the sum overlaps the remaining backwards. From ZeRO-2 on: once per window of micro-batches,
/// into this rank's shard. On layer-level plans.
Plans add_reduction(const Plans& plans, const PlanShape& shape);

/// Adds, after all compute, TiedSum, GradientNorm, Step, and the gather of updated parameters that
/// stay whole. After add_reduction.
Plans add_update(const Plans& plans, const PlanShape& shape);

/// Matrices whose direction is made of the whole matrix (Muon): adds, before the Step of an
/// orthogonal block, its Momentum, the gather of the shards' directions, Orthogonalize and the
/// broadcast of what each data rank has orthogonalised. After add_update.
Plans add_orthogonalization(const Plans& plans, const PlanShape& shape);

/// Optimizer state in a store: splits the Step of a block into one per part, whose state is fetched
/// before and stored after; likewise its Momentum. After add_orthogonalization.
Plans add_offload(const Plans& plans, const PlanShape& shape);

/// Parameters in a store: loads a block's shard before it is gathered or stepped, ahead as far as
/// the limits allow, and saves it after its Steps. On training or forward-only plans, the last
/// pass.
Plans add_loads(const Plans& plans, const PlanShape& shape);

/// The whole training step: schedule `name`, lowered by all passes that the shape asks for. Throws
/// std::invalid_argument, with the reason, if the schedule is unknown or cannot be built for the
/// shape.
Plans training_plans(const std::string& schedule, const PlanShape& shape);

/// Forward-only plans, lowered the same way.
Plans evaluation_plans(const PlanShape& shape);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages of a step, counted from its plan. ProcessGrid::traffic counts the same in the run.
#include <array>
#include <vector>

#include "src/plan/step_plan.hpp"
#include "src/state/parameters/block_messages.hpp"

namespace triax {

/// Groups of ranks that messages use, and the number of consecutive ranks of each that share memory
/// (Placement::ranks_sharing).
struct SharingGroups {
  struct Group {
    int ranks = 1, sharing = 1;
    /// Bytes of the shared-memory slots of the group's ranks: one set on a single node, two across
    /// nodes.
    std::int64_t slot_bytes() const;
    /// Bytes of the message buffers that the group keeps for sums such as `messages`: among all its
    /// ranks, and among the ranks with the same position on each node (DirectExchange).
    struct Held {
      std::uint64_t all = 0, between_nodes = 0;
    };
    Held held_for(const Messages& messages) const;
  };
  std::array<Group, all_axes.size()> axes;
  Group shard,
      across_shards;  // ranks of a shard group; ranks of equal position in all shard groups
  Group ends;         // first and last stage
  Group same_heads;   // tensor ranks with the same key and value heads
  explicit SharingGroups(const PlacedConfig& config);
  const Group& of(OpKind kind, Axis axis) const;
};

/// Messages that a rank sends in each instruction of its plan.
class OpMessages {
 public:
  /// `blocks`: the buckets of `stage` as laid out on the rank. `stage` outlives the object.
  OpMessages(const PlacedConfig& config, const Stage& stage,
             const std::vector<ParameterBlock>& blocks, int data_rank = 0);

  struct Sent {
    Axis axis = Axis::data;
    Messages messages;
  };
  /// Messages of one instruction. The gradient norm's sum over all ranks belongs to no axis and is
  /// not counted.
  Sent of(const Op& op) const;
  /// Largest number of bytes that MPI allocates at once for messages under way in one step.
  std::uint64_t peak_scratch(const Plan& plan) const;
  /// Bytes that the groups keep for sums until the end of the run.
  std::uint64_t held(const Plan& plan) const;
  /// Bytes of host memory allocated for messages that are staged through the host.
  std::uint64_t peak_staged(const Plan& plan) const;

 private:
  SharingGroups groups_;
  BatchShape shape_;
  std::uint64_t boundary_bytes_;
  Messages gather_input_;  // all-gather of a kept layer input that is cut over the tensor ranks
  std::vector<std::vector<LayerMessages>> layers_;  // by chunk
  std::vector<BlockMessages> blocks_;
};

/// Messages of one step by axis, summed over all ranks.
struct MessagePlan {
  std::array<Messages, all_axes.size()> by_axis;
  const Messages& along(Axis axis) const { return by_axis[static_cast<std::size_t>(axis)]; }
};
MessagePlan plan_messages(const PlacedConfig& config, const StepPlans& plans);

/// Bytes of shared memory per rank for messages on its node (Placement::ranks_sharing).
std::int64_t shared_slot_bytes(const PlacedConfig& config);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages of a step, counted from its plan: what ProcessGrid::traffic will count.
#include <array>
#include <vector>

#include "src/plan/step_plan.hpp"
#include "src/state/parameters/block_messages.hpp"

namespace triax {

/// The groups of ranks that messages go over, and how many neighbours of each share memory
/// (Placement::ranks_sharing).
struct SharingGroups {
  struct Group {
    int ranks = 1, sharing = 1;
    /// Bytes of the ranks' slots: one exchange on a node, two across nodes.
    std::int64_t slot_bytes() const;
    /// Bytes that the group comes to hold for sums such as `messages`: where all its ranks exchange
    /// messages, and where those of one place on each node do (DirectExchange).
    struct Held {
      std::uint64_t all = 0, between_nodes = 0;
    };
    Held held_for(const Messages& messages) const;
  };
  std::array<Group, all_axes.size()> axes;
  Group shard, across_shards;  // ranks of a shard group; those at one place of each
  Group ends;                  // first and last stage
  Group same_heads;            // tensor ranks with the same key and value heads
  explicit SharingGroups(const PlacedConfig& config);
  const Group& of(OpKind kind, Axis axis) const;
};

/// Messages that a rank sends in each instruction of its plan.
class OpMessages {
 public:
  /// `blocks`: the stage's, as they are laid out on the rank. The stage outlives this.
  OpMessages(const PlacedConfig& config, const Stage& stage,
             const std::vector<ParameterBlock>& blocks);

  struct Sent {
    Axis axis = Axis::data;
    Messages messages;
  };
  /// The gradient norm's message goes over all ranks, and no axis counts it.
  Sent of(const Op& op) const;
  /// The most that MPI allocates at once, from the start of a message to its end, in one run of the
  /// stage's plan.
  std::uint64_t peak_scratch(const Plan& plan) const;
  /// Bytes that the groups hold for sums until the end of the run.
  std::uint64_t held(const Plan& plan) const;
  /// The host memory that the plan's messages come to hold where they go through there.
  std::uint64_t peak_staged(const Plan& plan) const;

 private:
  SharingGroups groups_;
  BatchShape shape_;
  std::uint64_t boundary_bytes_;
  Messages gather_input_;  // of the parts of an input that is cut over the tensor ranks
  std::vector<std::vector<LayerMessages>> layers_;  // by chunk
  std::vector<BlockMessages> blocks_;
};

/// Messages of one step, summed over all ranks, by axis.
struct MessagePlan {
  std::array<Messages, all_axes.size()> by_axis;
  const Messages& along(Axis axis) const { return by_axis[static_cast<std::size_t>(axis)]; }
};
MessagePlan plan_messages(const PlacedConfig& config, const StepPlans& plans);

/// Memory that a rank shares with others of its node for messages (Placement::ranks_sharing).
std::int64_t shared_slot_bytes(const PlacedConfig& config);

}  // namespace triax

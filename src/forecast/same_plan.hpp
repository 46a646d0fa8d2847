// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether what the ranks are to run is one plan. Each makes the plans of all stages for itself and
// lays out its own parameters; the verifier proves the plans for the first tensor and data rank.
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/plan/step_plan.hpp"

namespace triax {

/// An instruction of a plan and what a rank sends in it.
struct PlannedMessage {
  Op op{};
  int at = 0;          // its place in the plan
  int stage = 0;       // whose plan it is,
  int evaluation = 0;  // of an evaluation: 1
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;  // a hash of the calls of Communicator that it makes, with their sizes
  bool operator==(const PlannedMessage&) const = default;
};
using MessageList = std::vector<PlannedMessage>;

/// Messages of a rank in a training step and an evaluation, in order: each list has those that are
/// the same on all ranks of a group.
struct RankMessages {
  MessageList tensor;      // of the tensor axis, and the runs of it
  MessageList data;        // of the data axis, and shard groups: whatever the data rank
  MessageList ends;        // of first and last stage
  MessageList neighbours;  // of the pipeline axis: one message of those between stages
};

/// A rank, as the grid has it.
struct RankPlace {
  int data = 0, pipeline = 0, tensor = 0;
};

/// As the layout of the rank itself says it, not that of a first rank.
RankMessages rank_messages(const PlacedConfig& config, const StepPlans& plans, RankPlace rank);

/// Error where the rank's layout is not the one that its stage's plan was made for: it cuts blocks
/// into other pieces or parts, or keeps them elsewhere.
void check_layout(const PlacedConfig& config, const StepPlans& plans, RankPlace rank);

/// Error on all ranks alike where ranks have made other plans, or those of a group send other
/// messages in them, and would wait for each other; it names the first that differs. Collective.
void check_same_messages(ProcessGrid& grid, const StepPlans& plans, const RankMessages& messages);

/// All of this, of the rank here. Collective; takes some milliseconds and, while it lasts, some
/// dozens of bytes for each message of a step.
void check_same_plan(ProcessGrid& grid, const PlacedConfig& config, const StepPlans& plans);

}  // namespace triax

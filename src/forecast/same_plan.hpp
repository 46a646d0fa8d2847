// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that all ranks have one plan. Each rank makes the plans of all stages itself and lays out
// its own parameters; the verifier proves the plans only for the first tensor and data rank.
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/plan/step_plan.hpp"

namespace triax {

/// An instruction of a plan and what a rank sends in it.
struct PlannedMessage {
  Op op{};
  int at = 0;          // position in the plan
  int stage = 0;       // stage of the plan
  int evaluation = 0;  // 1: plan of an evaluation; 0: of a training step
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;  // hash of its Communicator calls and their sizes
  bool operator==(const PlannedMessage&) const = default;
};
using MessageList = std::vector<PlannedMessage>;

/// Messages of a rank in a training step and an evaluation, in order. Each list must be equal on
/// all ranks of a group.
struct RankMessages {
  MessageList tensor;      // on the tensor axis; equal on its ranks
  MessageList data;        // on the data axis and in shard groups; equal on all data ranks
  MessageList ends;        // sums of first and last stage
  MessageList neighbours;  // on the pipeline axis: one message between stages
};

/// Coordinates of a rank in the grid.
struct RankPlace {
  int data = 0, pipeline = 0, tensor = 0;
};

/// Messages of `rank`, computed from its own layout.
RankMessages rank_messages(const PlacedConfig& config, const StepPlans& plans, RankPlace rank);

/// Error if the rank's layout is not the one its stage's plan was made for: buckets cut into other
/// pieces or sub-groups, or kept elsewhere.
void check_layout(const PlacedConfig& config, const StepPlans& plans, RankPlace rank);

/// Error on all ranks if ranks have different plans, or ranks of a group send different messages
/// and would wait for each other forever. The text names the first difference. Collective.
void check_same_messages(ProcessGrid& grid, const StepPlans& plans, const RankMessages& messages);

/// check_layout() and check_same_messages() for this rank. Takes some milliseconds and some dozens
/// of bytes per message of a step. Collective.
void check_same_plan(ProcessGrid& grid, const PlacedConfig& config, const StepPlans& plans);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text of a stall report, made of the progress of each rank.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/watchdog/process_name.hpp"
#include "src/comm/watchdog/progress_slot.hpp"

namespace triax {

/// A message that a rank takes part in.
struct MessageSeen {
  std::string group;         // "tensor axis"
  std::uint32_t number = 0;  // index among the group's collectives, from 1; 0: point to point
  CallKind kind = CallKind::meeting;
  std::uint64_t bytes = 0;
  int peer = -1;  // point to point: rank in the grid
  int tag = 0;
  bool finished = false;
};

/// A copy of a ProgressSlot.
struct RankProgress {
  int rank = 0;
  std::string place;
  ProcessState process = ProcessState::running;
  int process_number = 0;
  int activity = 0, position = 0;
  std::int64_t step = 0;
  bool file_work = false;
  std::optional<MessageSeen> waits_for;
  std::vector<MessageSeen> collectives;  // latest ones; in each group the newest is last
};

/// "step 3, plan position 17 (F c0 l2 m1)" of a rank's activity, step and position.
using ExplainProgress = std::function<std::string(const RankProgress&)>;

struct Stall {
  RankProgress waiter;
  double seconds = 0.0;
  std::vector<int> members;        // ranks of the group in which the waiter waits
  std::vector<RankProgress> seen;  // all ranks of which something is known, the waiter included
  std::string problem;             // why nodes may not have heard each other; empty if unknown
};

/// Names the operation, the ranks of its group that finished or joined it, those that did not and
/// where they are, and what all other ranks do. Several lines, without a final newline.
std::string stall_report(const Stall& stall, const ExplainProgress& explain);

/// True if none of these processes is stopped or gone.
bool all_run(const std::vector<RankProgress>& ranks);
/// Ranks that work on files and wait for no other: "rank 3", "ranks 0, 4-7"; empty if none does.
std::string file_workers(const std::vector<RankProgress>& ranks);

}  // namespace triax

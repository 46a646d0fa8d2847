// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output of triax train --dry-run.
#include <string>
#include <vector>

#include "src/forecast/job_plan.hpp"
#include "src/forecast/memory_limit.hpp"

namespace triax {

/// Bytes by kind as "1234.5 MiB: parameters 120.1, ..."; kinds of no bytes are left out.
std::string memory_text(const KindBytes& bytes);

/// Messages of an axis and kind as "data: 12 all_reduce, 45.6 MiB"; nothing sent: "no messages".
std::string messages_text(const MessagePlan& plan);

/// Lines about the reserves in a plan of GPU memory and their origin; empty for a run on the CPU.
/// `present`: whether this machine has a GPU.
std::vector<std::string> gpu_notes(const PlacedConfig& config, bool present);

/// Table with one line per group of ranks with equal memory (MiB by kind), the number of ranks that
/// fit the machine, and the messages of a step. `limit`: memory that the ranks of this machine
/// share.
std::string dry_run_table(const JobPlan& plan, const MemoryLimit& limit);

/// Parts of a plan in plan_json.
struct PlanParts {
  bool dry_run = true;
  bool instructions = false;
};

/// {"stages": [["F c0 l0 m0", ...], ...], "ranks": [{"rank": 0, "device": {"parameters": BYTES,
/// ...}, "host": {...}, "nvme": {...}}, ...], "messages": {"data": {"count":, "bytes":, "kinds":
/// {"all_reduce": {...}, ...}}, ...}}. "stages": instructions of each stage. "ranks" and "messages"
/// (dry run): memory of each rank in bytes, and a step's messages summed over ranks.
std::string plan_json(const JobPlan& plan, const PlanParts& parts = {});

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which settings would make a job take less memory.
#include <cstdint>
#include <string>
#include <vector>

#include "src/plan/placement.hpp"

namespace triax {

/// A change of a job, as its user would write it, and what it saves of the fullest rank's memory.
struct MemorySaving {
  std::string setting;
  std::int64_t bytes = 0;
};

/// The changes that help this job on as many ranks, the most effective first: each is planned, and
/// one that the job has already, or that saves less than a hundredth, is left out. Where a plan is
/// so long that making many would take minutes: none.
std::vector<MemorySaving> memory_savings(const PlacedConfig& config);

}  // namespace triax

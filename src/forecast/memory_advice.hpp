// SPDX-License-Identifier: Apache-2.0
#pragma once
// Settings that would reduce the memory of a job.
#include <cstdint>
#include <string>
#include <vector>

#include "src/plan/placement.hpp"

namespace triax {

/// A change of a job, as its user would write it, and the bytes it saves on the fullest rank.
struct MemorySaving {
  std::string setting;
  std::int64_t bytes = 0;
};

/// Changes that reduce this job's memory on the same number of ranks, the most effective first.
/// Each is planned; those that save less than 1 % are left out. Empty if a plan is so long that
/// making many would take minutes.
std::vector<MemorySaving> memory_savings(const PlacedConfig& config);

}  // namespace triax

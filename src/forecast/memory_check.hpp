// SPDX-License-Identifier: Apache-2.0
#pragma once
// Refuses jobs that do not fit the memory, before anything is allocated.
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/forecast/memory_limit.hpp"
#include "src/forecast/memory_plan.hpp"

namespace triax {

/// Error if `limit` leaves nothing beside the program and its libraries. Without this check MPI or
/// another library would abort.
void check_libraries_fit(const MemoryLimit& limit = process_limit());

/// UsageError if the sizes are too large to plan within `limit` (the instructions would take hours
/// or end in bad_alloc) or the bytes overflow an int64; Error if the limit can be raised.
void check_plannable(const Config& config, const MemoryLimit& limit);
/// check_plannable() for the limits of this machine and this process.
void check_plannable(const Config& config);

/// Whether `ranks`, which share `limit`, fit it.
bool fits(const MemoryPlan& plan, const std::vector<int>& ranks, const MemoryLimit& limit);
/// Whether every machine, process and GPU of the grid fits its limits. Collective; the same result
/// on all ranks.
bool fits(const MemoryPlan& plan, const ProcessGrid& grid);

/// UsageError if `ranks`, which share `limit`, do not fit it; Error if the limit can be raised. The
/// text names the largest kinds of memory and the settings that reduce them.
void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                const MemoryLimit& limit);

/// check_fits() for every machine, process and GPU of the grid. Collective; all ranks throw.
void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const ProcessGrid& grid);

}  // namespace triax

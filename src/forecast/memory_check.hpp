// SPDX-License-Identifier: Apache-2.0
#pragma once
// Jobs that no machine at hand can hold, found before anything is built from them.
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/forecast/memory_limit.hpp"
#include "src/forecast/memory_plan.hpp"

namespace triax {

/// Error where `limit` leaves nothing beside the program and its libraries, which would end in
/// their own ways: MPI's abort.
void check_libraries_fit(const MemoryLimit& limit = process_limit());

/// UsageError where the sizes are so large that not even the plan can be made within `limit`: its
/// instructions would take hours or end in bad_alloc, or the bytes are too many to count. Error
/// where that is for a limit that can be raised.
void check_plannable(const Config& config, const MemoryLimit& limit);
/// The same for this machine and this process.
void check_plannable(const Config& config);

/// Whether `ranks`, which share `limit`, need no more than that.
bool fits(const MemoryPlan& plan, const std::vector<int>& ranks, const MemoryLimit& limit);
/// The same for every machine and process of a grid. Collective; the same on all ranks.
bool fits(const MemoryPlan& plan, const ProcessGrid& grid);

/// UsageError where `ranks`, which share `limit`, need more than that, or Error where the limit can
/// be raised. It names the largest kinds and the settings that shrink them.
void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                const MemoryLimit& limit);

/// The same for every machine and process of a grid. Collective; all ranks throw alike.
void check_fits(const PlacedConfig& config, const MemoryPlan& plan, const ProcessGrid& grid);

}  // namespace triax

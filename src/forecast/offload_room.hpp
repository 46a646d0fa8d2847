// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the offload directories of a job before it starts: free space and write access.
#include <functional>
#include <string>
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/forecast/memory_plan.hpp"

namespace triax {

/// Bytes that a user may still write to the file system of an existing directory.
double free_bytes(const std::string& directory);

/// UsageError if the offload files of `ranks`, which share a machine, do not fit the file systems
/// of the job's nvme_path keys; the text has the paths and the needed and free bytes. Skips absent
/// directories, which other checks report.
void check_offload_room(const Config& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                        const std::function<double(const std::string&)>& free = free_bytes);

/// check_offload_room() for every machine of the grid. Collective; all ranks throw.
void check_offload_room(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid);

/// UsageError if a machine of the grid cannot write to its offload directories. Collective; all
/// ranks throw.
void check_offload_writable(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid);

}  // namespace triax

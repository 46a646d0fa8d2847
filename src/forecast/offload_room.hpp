// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the disks that a job names have room for what it keeps there, before it starts.
#include <functional>
#include <string>
#include <vector>

#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/forecast/memory_plan.hpp"

namespace triax {

/// Bytes that a user may still write on the file system of a directory that is there.
double free_bytes(const std::string& directory);

/// UsageError where the files of `ranks`, which share a machine, do not fit the file systems that
/// the job's nvme_path name: with the paths, what is needed and free, and what to do. Directories
/// that are not there are passed over: they are told of otherwise.
void check_offload_room(const Config& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                        const std::function<double(const std::string&)>& free = free_bytes);

/// The same for every machine of a grid. Collective; all ranks throw alike.
void check_offload_room(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid);

/// UsageError where a machine of the grid cannot write in its directories. Collective; all ranks
/// throw alike.
void check_offload_writable(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid);

}  // namespace triax

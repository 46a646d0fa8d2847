// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether all ranks see the directories that a run writes to.
#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"

namespace triax {

/// How long a node may take to see what rank 0 has written: NFS may show it for a minute what was
/// there before. Never so long that the watchdog takes the wait for a stall.
double usual_directory_patience(const RunConfig& run);

/// UsageError on all ranks alike where run.directory or the directory of checkpoints that rank 0
/// sees is not the one that another rank sees, `patience` seconds after rank 0 put a file there.
/// Rank 0 holds them (RunLock). Collective.
void check_directories_shared(const ProcessGrid& grid, const Config& config, double patience);

/// Collective. Whether this rank finds a file that rank 0 writes into `directory` now, within
/// `patience` seconds. Error, on all ranks, where rank 0 cannot write it.
bool sees_file_of_rank0(const ProcessGrid& grid, const std::string& directory, double patience);

}  // namespace triax

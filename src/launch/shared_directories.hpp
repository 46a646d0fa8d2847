// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that all ranks see the same directories.
#include "src/comm/grid/process_grid.hpp"
#include "src/config/config.hpp"

namespace triax {

/// Seconds in which a node sees a file that rank 0 has written: NFS may show an older directory for
/// a minute.
inline constexpr double longest_directory_patience = 60.0;
/// Seconds to wait for that: at most half of run.collective_timeout, so that the watchdog reports
/// no stall.
double usual_directory_patience(const RunConfig& run);

/// UsageError on all ranks if a rank does not find, within `patience` seconds, a file that rank 0
/// wrote to run.directory or to the checkpoint.directory that the run owns. Rank 0 holds their
/// locks (RunLock). Collective.
void check_directories_shared(const ProcessGrid& grid, const Config& config, double patience);

/// Whether this rank finds a file that rank 0 writes to `directory` now, within `patience` seconds.
/// Error on all ranks if rank 0 cannot write it. Collective.
bool sees_file_of_rank0(const ProcessGrid& grid, const std::string& directory, double patience);

}  // namespace triax

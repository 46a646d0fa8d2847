// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of a run in its directories, beside metrics and checkpoints.
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// Writes job.json to run.directory, which is made where it is not there: the resolved job with
/// version, grid and hosts, and where its batch job, if any, began: here, or where an earlier
/// job.json of the same batch job says. Rank 0 only. Error where it cannot be written.
void prepare_run_directory(const LoadedJob& job, const std::vector<std::string>& hosts,
                           const std::string& batch_job = {}, std::int64_t step = 0);

/// The checkpoint that checkpoint.resume asks for; empty: start anew. UsageError where one must be
/// there and is not.
std::string resume_file(const CheckpointConfig& checkpoint);

/// Error where `file` is no whole checkpoint (it does not open, or its data do not match their
/// checksums), naming the newest one before it in `directory` that is. Collective: the ranks share
/// out the reading; throws on every rank alike.
void check_whole(ProcessGrid& grid, const std::string& file, const std::string& directory);

/// Opens resume_file() of rank 0 on every rank: a parallel file system may show others
/// an older directory. Rank 0 could open it, or check_whole() has thrown; its data are checked by
/// who reads them. Collective; throws on every rank alike.
std::optional<CheckpointReader> checkpoint_to_resume(ProcessGrid& grid,
                                                     const CheckpointConfig& checkpoint);

/// The hosts of the grid, each once, on rank 0 (empty elsewhere). Collective.
std::vector<std::string> gather_hosts(ProcessGrid& grid);

}  // namespace triax

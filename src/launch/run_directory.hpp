// SPDX-License-Identifier: Apache-2.0
#pragma once
// job.json of a run, and the checkpoint that it resumes.
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// Writes job.json to run.directory (created if absent): the resolved job, version, grid, hosts and
/// the step at which its batch job, if any, began (`step`, or the step in an earlier job.json of
/// the same batch job). Warns of a path that is not UTF-8. Rank 0 only. Error if it cannot be
/// written and no earlier one exists.
void prepare_run_directory(const LoadedJob& job, const std::vector<std::string>& hosts,
                           const std::string& batch_job = {}, std::int64_t step = 0);

/// File that checkpoint.resume selects; empty: start from step 0. UsageError if a checkpoint is
/// required and there is none.
std::string resume_file(const CheckpointConfig& checkpoint);

/// Error if `file` is damaged (it does not open, or its data do not match their checksums); its
/// text names the newest undamaged checkpoint before it in `directory`. Collective: the ranks share
/// the reading, and all throw.
void check_whole(ProcessGrid& grid, const std::string& file, const std::string& directory);

/// Opens rank 0's resume_file() on every rank: a parallel file system may show other ranks an older
/// directory. If a rank cannot open it, check_whole() throws. The data are verified when they are
/// read. Collective; all ranks throw.
std::optional<CheckpointReader> checkpoint_to_resume(ProcessGrid& grid,
                                                     const CheckpointConfig& checkpoint);

/// Names of the grid's hosts, each once, on rank 0 (empty on other ranks). Collective.
std::vector<std::string> gather_hosts(ProcessGrid& grid);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between a job and the job that wrote a checkpoint.
#include <string>
#include <vector>

namespace triax {

/// One line per differing key of two resolved jobs (JSON texts, as CheckpointHeader::job and
/// LoadedJob::resolved), in the order of the keys: "resumed with another data.seed: 1 in the
/// checkpoint, 2 now". Compares the keys that change the result of a training run (data, optimizer,
/// scheduler, precision, seed), not the model or the grid. Empty if either text is not a JSON
/// object or `there` has no keys: an imported checkpoint holds no job.
std::vector<std::string> job_changes(const std::string& there, const std::string& here);

/// Whether the same weights give the same losses in two resolved jobs, but for rounding: precision
/// and loss are configured alike. An imported checkpoint holds no job, and counts as alike.
bool same_losses(const std::string& there, const std::string& here);

/// Files of each source of data.train in a resolved job, as patterns of their names; none if the
/// text has none.
std::vector<std::vector<std::string>> training_files(const std::string& job);

/// Whether two lists name the same files, perhaps from different directories.
bool same_files(const std::vector<std::string>& a, const std::vector<std::string>& b);

/// Whether two resolved jobs train on the same files, with any weights, and take the same rows of
/// them, of which they leave the same share for validation.
bool same_training_data(const std::string& there, const std::string& here);

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between a job and the job that wrote a checkpoint.
#include <string>
#include <vector>

namespace triax {

/// A line for each key of data, optimizer and scheduler, and each other key that shapes the
/// training but neither the model nor the grid, in which two resolved jobs (JSON texts, as
/// CheckpointHeader::job and LoadedJob::resolved) differ: "resumed with another data.seed: 1 there,
/// 2 here". In the order of the keys. Nothing for a text that is no JSON object: a checkpoint need
/// not hold a job.
std::vector<std::string> job_changes(const std::string& there, const std::string& here);

/// Whether two resolved jobs train on the same files.
bool same_training_data(const std::string& there, const std::string& here);

}  // namespace triax

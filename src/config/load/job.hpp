// SPDX-License-Identifier: Apache-2.0
#pragma once
// A job that was read, checked and resolved, as load_job and describe_job share it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

struct ResolvedJob {
  Settings settings;
  ModelConfig model;
  /// Files that the job reads and that do not exist: errors of a run, but not of `triax config`.
  ErrorList missing;
  /// The checkpoint of checkpoint.resume, if it does not exist. Not in `missing`: a requeued Slurm
  /// job resumes from its own checkpoints instead, so the run decides.
  ErrorList no_checkpoint;

  std::vector<std::string> all_missing() const {
    ErrorList all = missing;
    all.add(no_checkpoint);
    return all.texts();
  }
};

/// A job as written, for resolve_job.
struct JobSource {
  std::string path;
  int ranks = 0;
  JobTree tree = {};
  ErrorList errors = {};  // of its text
};
JobSource read_source(const std::string& path, const std::vector<std::string>& overrides,
                      int ranks);

/// Throws UsageError with every error of the job, missing files among them. A job whose only errors
/// are missing files is returned. `table` must outlive the result. `counted`: the steps of
/// run.epochs, once they are known.
ResolvedJob resolve_job(const KeyTable& table, const JobSource& source,
                        std::optional<std::int64_t> counted = {});

}  // namespace triax

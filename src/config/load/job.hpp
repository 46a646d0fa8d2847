#pragma once
// A job read, checked and resolved: what load_job and describe_job share.
#include <string>
#include <vector>

#include "src/config/config.hpp"
#include "src/config/keys/settings.hpp"

namespace triax {

struct ResolvedJob {
  Settings settings;
  ModelConfig model;
  /// Files that the job reads and that are not there: errors of a run, but not of a look at the
  /// job.
  ErrorList missing;
  /// The checkpoint to begin from, where it is not there: a run looks for it by itself, since a
  /// batch job that is run again goes on from its own.
  ErrorList no_checkpoint;

  std::vector<std::string> all_missing() const {
    ErrorList all = missing;
    all.add(no_checkpoint);
    return all.texts();
  }
};

/// UsageError with every error of the job, `missing` among them, but for a job that has no others.
/// `table` must outlive the result.
ResolvedJob resolve_job(const KeyTable& table, const std::string& path,
                        const std::vector<std::string>& overrides, int ranks);

}  // namespace triax

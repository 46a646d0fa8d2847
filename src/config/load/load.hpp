#pragma once
// From a job file to a Config: read, extend, override, check, resolve.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

struct LoadedJob {
  Config config;
  std::string resolved;  // JSON text of the job with every default filled in, for job.json
  std::vector<std::string>
      accepted;  // keys that are DeepSpeed's and have no meaning here, for one startup line
  std::vector<std::string> warnings;  // of keys that were read and have no effect, for the start
  std::vector<std::string> missing;   // of describe_job's kind; empty after load_job
};

/// Reads a job file for a job of `ranks` ranks. `overrides` are "KEY=VALUE" with dotted keys.
/// UsageError with every error of the job, a line each: path, line in which file, what is wrong,
/// nearest key.
LoadedJob load_job(const std::string& path, const std::vector<std::string>& overrides, int ranks);
/// The same of a job that is looked at and not run: files that are not there are no errors, but in
/// `missing`.
LoadedJob load_job_to_plan(const std::string& path, const std::vector<std::string>& overrides,
                           int ranks);

}  // namespace triax

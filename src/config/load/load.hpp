// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a job file to a Config: read, extend, override, check, resolve.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

struct JobSource;  // job.hpp

struct LoadedJob {
  Config config;
  std::string resolved;  // JSON text of the job with every default filled in, for job.json
  std::vector<std::string>
      accepted;  // keys without effect here (DeepSpeed's), for one startup line
  std::vector<std::string> warnings;  // keys that were read and have no effect, for the start
  std::vector<std::string> missing;   // as JobDescription::missing; empty after load_job
  std::shared_ptr<const JobSource> source = {};  // the job as written, for with_steps
};

/// Reads a job file for `ranks` ranks. `overrides` are "KEY=VALUE" with dotted keys. Throws
/// UsageError with every error of the job, one per line: path, line and file, problem, nearest key.
LoadedJob load_job(const std::string& path, const std::vector<std::string>& overrides, int ranks);
/// load_job for a job that is planned and not run: missing files go to `missing` instead of
/// being errors.
LoadedJob load_job_to_plan(const std::string& path, const std::vector<std::string>& overrides,
                           int ranks);

/// The same job once the steps of its run.epochs are counted: all that depends on run.steps is
/// derived again. UsageError where that contradicts other keys.
LoadedJob with_steps(const LoadedJob& job, std::int64_t steps);
/// Steps that train on `samples` x `epochs` samples. The last one may begin the next epoch.
std::int64_t steps_of_epochs(double epochs, std::int64_t samples, std::int64_t global_batch);

}  // namespace triax

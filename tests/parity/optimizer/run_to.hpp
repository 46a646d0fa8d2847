// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs that stop and go on.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/training.hpp"

namespace triax::test {

/// Runs a job to step `last` in `run`, from a checkpoint or from the start. Lines of metrics.jsonl,
/// on rank 0.
inline std::vector<nlohmann::json> run_to(std::int64_t last, nlohmann::json job,
                                          const std::string& run, const std::string& checkpoint) {
  job["run"]["directory"] = run;
  job["run"]["steps"] = last;
  job["checkpoint"] = {{"resume", checkpoint.empty() ? "never" : checkpoint}, {"interval", 2}};
  train_to_the_end(job);
  return metrics_of(run);
}

}  // namespace triax::test

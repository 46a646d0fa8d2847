// SPDX-License-Identifier: Apache-2.0
#include "src/config/ending.hpp"

#include <nlohmann/json.hpp>

namespace triax {

EndingConfig ending_config(const std::string& resolved_job) {
  using Pointer = nlohmann::json::json_pointer;
  const auto job = nlohmann::json::parse(resolved_job);
  EndingConfig ending;
  ending.epochs = job.value(Pointer("/run/epochs"), ending.epochs);
  ending.patience = job.value(Pointer("/run/early_stopping/patience"), ending.patience);
  ending.threshold = job.value(Pointer("/run/early_stopping/threshold"), ending.threshold);
  ending.keep_best = job.value(Pointer("/checkpoint/keep_best"), ending.keep_best);
  return ending;
}

}  // namespace triax

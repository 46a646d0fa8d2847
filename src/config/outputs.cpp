// SPDX-License-Identifier: Apache-2.0
#include "src/config/outputs.hpp"

#include <nlohmann/json.hpp>

namespace triax {

OutputConfig output_config(const std::string& resolved_job) {
  const auto job = nlohmann::json::parse(resolved_job);
  const auto value = [&](const char* pointer) {
    return job.value(nlohmann::json::json_pointer(pointer), nlohmann::json());
  };
  const auto is_true = [](const nlohmann::json& flag) {
    return flag.is_boolean() && flag.get<bool>();
  };
  OutputConfig config;
  if (const auto steps = value("/run/trace_steps"); steps.is_array())
    config.trace = {steps.at(0).get<std::int64_t>(), steps.at(1).get<std::int64_t>()};
  config.tensorboard = is_true(value("/run/tensorboard")) || is_true(value("/tensorboard/enabled"));
  if (const auto file = value("/run/openmetrics"); file.is_string())
    config.openmetrics = file.get<std::string>();
  return config;
}

}  // namespace triax

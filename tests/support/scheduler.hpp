// SPDX-License-Identifier: Apache-2.0
#pragma once
// A learning-rate schedule with its defaults, for tests that make their own Config.
#include <map>
#include <string>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rates.hpp"

namespace triax::test {

/// The schedule `type`: each parameter has its default, or the value given. "auto" is left out.
inline SchedulerConfig scheduler(const std::string& type,
                                 const std::map<std::string, double>& numbers = {},
                                 const std::map<std::string, std::string>& words = {}) {
  SchedulerConfig made{type, numbers, words};
  for (const RateParameter& parameter : rate_schedule(type).parameters()) {
    const std::string name = parameter.key.path.substr(parameter_path("").size());
    const nlohmann::json& value = parameter.key.default_value;
    if (value.is_string() && value != "auto")
      made.words.emplace(name, value.get<std::string>());
    else if (value.is_boolean())
      made.numbers.emplace(name, value.get<bool>() ? 1.0 : 0.0);
    else if (value.is_number())
      made.numbers.emplace(name, value.get<double>());
  }
  return made;
}

}  // namespace triax::test

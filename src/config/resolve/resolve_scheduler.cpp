// SPDX-License-Identifier: Apache-2.0
// From the settings of the section scheduler to its Config, by the table of src/config/rates.
#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rates.hpp"
#include "src/config/resolve/resolve.hpp"

namespace triax {
namespace {

const std::string type_key = "scheduler.type";

void resolve_parameter(Settings& s, const RateSchedule& schedule, const RateParameter& parameter,
                       ErrorList& errors) {
  const std::string& path = parameter.key.path;
  if (parameter.required && !s.has(path) && s.sound({path}))
    s.error(errors, path, std::string("missing. ") + schedule.name + " needs it");
  if (!s.is_auto(path)) return;
  const nlohmann::json& value = parameter.automatic;
  s.resolve(path, value.is_string() ? s.at(value.get<std::string>()).value : value);
}

}  // namespace

void resolve_scheduler(Settings& s, ErrorList& errors) {
  if (!s.has(type_key)) return;
  const RateSchedule& schedule = rate_schedule(s.string(type_key));
  for (const RateParameter& parameter : schedule.parameters())
    resolve_parameter(s, schedule, parameter, errors);
}

void check_rates(Settings& s, ErrorList& errors) {
  if (!s.has(type_key)) return;
  if (auto* const check = rate_schedule(s.string(type_key)).check; check != nullptr)
    check(s, errors);
}

SchedulerConfig scheduler_config(const Settings& s) {
  SchedulerConfig c;
  if (!s.has(type_key)) return c;
  c.type = s.string(type_key);
  for (const RateParameter& parameter : rate_schedule(c.type).parameters()) {
    const std::string& path = parameter.key.path;
    if (!s.has(path)) continue;
    const std::string name = path.substr(path.rfind('.') + 1);
    const nlohmann::json& value = s.at(path).value;
    if (value.is_string())
      c.words[name] = value.get<std::string>();
    else
      c.numbers[name] = value.is_boolean() ? (value.get<bool>() ? 1.0 : 0.0) : value.get<double>();
  }
  return c;
}

}  // namespace triax

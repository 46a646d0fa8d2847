// SPDX-License-Identifier: Apache-2.0
// From the settings of the section optimizer to its Config, by the table of
// src/state/optimizer/rules.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/config/rates/rates.hpp"
#include "src/config/resolve/resolve.hpp"
#include "src/config/source/spelling.hpp"
#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rules.hpp"

namespace triax {
namespace {
using nlohmann::json;

const std::string type_key = "optimizer.type", groups_key = "optimizer.groups";
constexpr const char* group_keys[] = {"match", "lr", "weight_decay"};

// Each list of numbers has the length of its default.
void check_length(Settings& s, const Key& key, ErrorList& errors) {
  const json& value = s.at(key.path).value;
  if (key.type != KeyType::numbers || value.size() == key.default_value.size()) return;
  s.error(errors, key.path,
          fmt::format("expected {} numbers, got {}",
                      key.default_value.size() == 2 ? "two" : "three", value.dump()));
  s.resolve(key.path, key.default_value, "default");
}

void resolve_parameter(Settings& s, const RuleParameter& parameter, ErrorList& errors) {
  const std::string& path = parameter.key.path;
  if (s.is_auto(path) && !parameter.automatic.is_null()) s.resolve(path, parameter.automatic);
  if (s.has(path)) check_length(s, parameter.key, errors);
}

// Problem of an entry of optimizer.groups; empty: none.
std::string problem_with_group(const json& group) {
  if (!group.is_object()) return "expected an object, got " + group.dump();
  for (const auto& [name, value] : group.items()) {
    if (std::ranges::find(group_keys, name) == std::end(group_keys))
      return fmt::format("unknown key \"{}\" (nearest: {})", name,
                         nearest_word(name, {std::begin(group_keys), std::end(group_keys)}));
    if (name == "match" ? !value.is_string() || value.get<std::string>().empty()
                        : !value.is_number() || value.get<double>() < 0.0)
      return fmt::format("\"{}\": expected {}, got {}", name,
                         name == "match" ? "a pattern" : "a number of at least 0", value.dump());
  }
  if (!group.contains("match")) return "no \"match\". Set it to a pattern of tensor names";
  return group.size() > 1 ? "" : "sets nothing. Give lr or weight_decay";
}

// Highest learning rate of the run.
double peak_of(double rate, const SchedulerConfig& scheduler) {
  const char* const parameter = rate_schedule(scheduler.type).peak_parameter;
  return parameter == nullptr ? rate : scheduler.numbers.at(parameter);
}

std::vector<OptimizerGroup> groups_of(const Settings& s, double peak) {
  std::vector<OptimizerGroup> groups;
  if (!s.has(groups_key)) return groups;
  for (const json& entry : s.at(groups_key).value) {
    OptimizerGroup& group = groups.emplace_back();
    group.match = entry.at("match").get<std::string>();
    if (entry.contains("lr")) group.rate = entry["lr"].get<double>() / peak;
    if (entry.contains("weight_decay")) group.weight_decay = entry["weight_decay"].get<double>();
  }
  return groups;
}

void set_average(const Settings& s, OptimizerConfig& optimizer) {
  const std::string decay = "run.ema.decay", interval = "run.ema.interval";
  if (!s.has(decay)) return;
  set_weight_average(optimizer, {s.number(decay), s.has(interval) ? s.integer(interval) : 1});
}

}  // namespace

void resolve_optimizer(Settings& s, ErrorList& errors) {
  if (!s.has(type_key)) return;
  const OptimizerRule& rule = optimizer_rule(s.string(type_key));
  for (const RuleParameter& parameter : rule.parameters()) resolve_parameter(s, parameter, errors);
  if (rule.check != nullptr) rule.check(s, errors);
}

void check_groups(Settings& s, ErrorList& errors) {
  if (!s.has(groups_key)) return;
  const json& groups = s.at(groups_key).value;
  bool rates = false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (const std::string problem = problem_with_group(groups[i]); !problem.empty())
      return s.error(errors, groups_key, fmt::format("group {}: {}", i + 1, problem));
    rates |= groups[i].contains("lr");
  }
  const std::string rate = optimizer_path("lr");
  if (!rates || !s.sound({"scheduler", "scheduler.type", rate})) return;
  const SchedulerConfig scheduler = scheduler_config(s);
  const char* const peak = rate_schedule(scheduler.type).peak_parameter;
  if (peak != nullptr && !scheduler.numbers.contains(peak)) return;  // an error of its own
  if (peak_of(s.number(rate), scheduler) > 0.0) return;
  s.error(errors, groups_key,
          fmt::format("learning rates of groups are in proportion to {}, which is 0. Raise it, or "
                      "leave out lr",
                      peak == nullptr ? rate : "scheduler.params." + std::string(peak)));
}

OptimizerConfig optimizer_config(const Settings& s, const SchedulerConfig& scheduler) {
  const std::string rate = optimizer_path("lr"), betas = optimizer_path("betas");
  OptimizerConfig o;
  o.type = s.string(type_key);
  o.learning_rate = s.number(rate);
  o.rate_given = s.given(rate) && !s.at(rate).automatic;
  if (s.has(betas)) {
    o.beta1 = s.at(betas).value[0].get<double>();
    o.beta2 = s.at(betas).value[1].get<double>();
  }
  o.weight_decay = s.number(optimizer_path("weight_decay"));
  for (const RuleParameter& parameter : optimizer_rule(o.type).parameters())
    if (parameter.is_number() && s.has(parameter.key.path))
      parameter.add_to(o.numbers, s.at(parameter.key.path).value);
  o.groups = groups_of(s, peak_of(o.learning_rate, scheduler));
  if (s.has("gradient_clipping_value")) o.clip_value = s.number("gradient_clipping_value");
  if (s.boolean(optimizer_path("stochastic_rounding")))
    o.stochastic_rounding = static_cast<std::uint64_t>(s.integer("run.seed"));
  set_average(s, o);
  return o;
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/state/optimizer/rules/rules.hpp"

#include <algorithm>
#include <limits>

#include "kernels/base/check.hpp"
#include "src/state/optimizer/rules/parameter.hpp"
#include "src/state/optimizer/rules/rows.hpp"

namespace triax {
namespace {

constexpr const OptimizerRule* table[] = {&rules::adamw, &rules::adam,   &rules::adamw_8bit,
                                          &rules::adan,  &rules::lion,   &rules::muon,
                                          &rules::sgd,   &rules::adagrad};

constexpr const char *average_decay = "run.ema.decay", *average_interval = "run.ema.interval";

}  // namespace

double UpdateStep::number(const char* name) const {
  const auto found = config.numbers.find(name);
  check(found != config.numbers.end(), "{} has no number {}", config.type, name);
  return found->second;
}

double UpdateStep::clip_value() const {
  return config.clip_value > 0.0 ? config.clip_value : std::numeric_limits<double>::infinity();
}

std::span<const OptimizerRule* const> optimizer_rules() {
  return table;
}

const OptimizerRule& optimizer_rule(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(table, [&](const OptimizerRule* row) { return row->name == name; });
  check(found != std::end(table), "no optimizer is called \"{}\"", name);
  return **found;
}

OptimizerConfig complete(OptimizerConfig config) {
  for (const RuleParameter& parameter : optimizer_rule(config.type).parameters())
    if (parameter.is_number()) parameter.add_to(config.numbers, parameter.key.default_value);
  return config;
}

std::optional<WeightAverage> weight_average_of(const OptimizerConfig& config) {
  const auto decay = config.numbers.find(average_decay);
  if (decay == config.numbers.end()) return {};
  return WeightAverage{decay->second,
                       static_cast<std::int64_t>(config.numbers.at(average_interval))};
}

void set_weight_average(OptimizerConfig& config, const WeightAverage& average) {
  config.numbers[average_decay] = average.decay;
  config.numbers[average_interval] = static_cast<double>(average.interval);
}

std::vector<StateKind> states_of(const OptimizerConfig& config) {
  std::vector<StateKind> states = optimizer_rule(config.type).states(complete(config));
  if (weight_average_of(config))
    states.push_back({.name = average_state, .start = StateStart::weights, .root = nullptr});
  return states;
}

}  // namespace triax

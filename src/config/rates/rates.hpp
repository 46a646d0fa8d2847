// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of learning-rate schedules. A row has the keys, the checks and the arithmetic of a
// schedule; all else that triax does with schedules is derived from the rows.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

class ErrorList;
class Settings;
struct RateParameter;  // parameter.hpp

/// A step to train, and all that its learning rate depends on.
struct RateStep {
  const SchedulerConfig& scheduler;
  const OptimizerConfig& optimizer;
  std::int64_t step;         // from 0
  std::int64_t total_steps;  // run.steps

  double peak() const { return optimizer.learning_rate; }
  // Values of scheduler.params, by name.
  bool has(const std::string& name) const { return scheduler.numbers.contains(name); }
  double number(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  bool flag(const std::string& name) const { return number(name) != 0.0; }
  const std::string& word(const std::string& name) const;
};

/// End of a schedule that does not end at run.steps: the steps before it, and the parameter that
/// moves it.
struct RateEnd {
  const char* parameter;
  std::int64_t steps;
};

struct RateSchedule {
  const char* name;  // scheduler.type
  /// Learning rate of a step: a function of nothing else, so that a resumed run continues it.
  double (*rate)(const RateStep& step);
  std::vector<RateParameter> (*parameters)();
  bool varies = true;                      // not the same rate at each step
  const char* peak_parameter = nullptr;    // the highest rate; null: optimizer.params.lr
  const char* warmup_parameter = nullptr;  // number of steps of the warm-up; null: it has none
  /// Checks that the parameters agree with each other and with the run; null: nothing to check.
  void (*check)(Settings& settings, ErrorList& errors) = nullptr;
  /// Null: it ends at run.steps, or never.
  std::optional<RateEnd> (*end)(const RateStep& step) = nullptr;
  // Betas of a schedule that moves them, too; null: the optimizer's.
  double (*beta1)(const RateStep& step) = nullptr;
  double (*beta2)(const RateStep& step) = nullptr;
};

/// All schedules, in the order in which errors and the reference list them.
std::span<const RateSchedule* const> rate_schedules();
/// The schedule called `name`, a value of SchedulerConfig::type.
const RateSchedule& rate_schedule(const std::string& name);

}  // namespace triax

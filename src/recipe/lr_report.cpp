// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/config/rates/rates.hpp"

namespace triax {
namespace {

RateStep step_of(const Config& config, std::int64_t step) {
  return {config.scheduler, config.optimizer, step, config.run.steps};
}

double rate_at(const Config& config, std::int64_t step) {
  return rate_schedule(config.scheduler.type).rate(step_of(config, step));
}

// The same step of a run of `steps` steps.
double rate_with(const Config& config, std::int64_t step, std::int64_t steps) {
  RateStep other = step_of(config, step);
  other.total_steps = steps;
  return rate_schedule(config.scheduler.type).rate(other);
}

// Highest rate by the parameters.
double peak_of(const Config& config) {
  const char* const parameter = rate_schedule(config.scheduler.type).peak_parameter;
  const RateStep step = step_of(config, 0);
  return parameter == nullptr ? step.peak() : step.number(parameter);
}

std::string unused_rate(const Config& config, const RateSchedule& schedule) {
  const double rate = config.optimizer.learning_rate, peak = peak_of(config);
  if (schedule.peak_parameter == nullptr || !config.optimizer.rate_given || rate == peak) return {};
  return fmt::format("optimizer.params.lr {} is unused: {} has rates of its own, {} {}", rate,
                     schedule.name, schedule.peak_parameter, peak);
}

std::string long_warmup(const Config& config, const RateSchedule& schedule) {
  if (schedule.warmup_parameter == nullptr) return {};
  const std::int64_t steps = config.run.steps;
  const std::int64_t warmup = step_of(config, 0).integer(schedule.warmup_parameter);
  if (warmup <= 0 || warmup < steps) return {};
  return fmt::format(
      "scheduler.params.{} {} takes all of run.steps {}: the last step has learning rate {:.3g} of "
      "{:.3g}",
      schedule.warmup_parameter, warmup, steps, rate_at(config, steps - 1), peak_of(config));
}

std::string early_end(const Config& config, const RateSchedule& schedule) {
  const RateStep last = step_of(config, config.run.steps - 1);
  const auto end = schedule.end == nullptr ? std::nullopt : schedule.end(last);
  if (!end || end->steps >= config.run.steps) return {};
  return fmt::format(
      "scheduler.params.{} {} ends the decay before run.steps {}: the last {} steps train at "
      "learning rate {:.3g}",
      end->parameter, last.integer(end->parameter), config.run.steps, config.run.steps - end->steps,
      schedule.rate(last));
}

}  // namespace

std::string rate_text(const Config& config, std::int64_t first) {
  const RateSchedule& schedule = rate_schedule(config.scheduler.type);
  if (!schedule.varies)
    return fmt::format("learning rate {:.3g}, {}", config.optimizer.learning_rate, schedule.name);
  const std::int64_t last = config.run.steps - 1;
  const double begin = rate_at(config, first), end = rate_at(config, last);
  return fmt::format("learning rate up to {:.3g} by {}: {:.3g} at step {}, {:.3g} at step {}",
                     std::max({peak_of(config), begin, end}), schedule.name, begin, first + 1, end,
                     last + 1);
}

std::vector<std::string> rate_warnings(const Config& config) {
  if (config.run.steps == 0) return {};  // of run.epochs: not counted yet
  const RateSchedule& schedule = rate_schedule(config.scheduler.type);
  std::vector<std::string> lines;
  for (std::string line :
       {unused_rate(config, schedule), long_warmup(config, schedule), early_end(config, schedule)})
    if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

// A schedule that ends at run.steps has another rate in the last step at least.
std::string moved_end(const Config& config, std::int64_t steps_there, std::int64_t update) {
  const std::int64_t steps = config.run.steps, last = std::max(update, steps - 1);
  const double there = rate_with(config, update, steps_there);
  if (there == rate_at(config, update) &&
      rate_with(config, last, steps_there) == rate_at(config, last))
    return {};
  return fmt::format(
      "the {} now ends at step {}: the learning rate of step {} is {:.3g}, {:.3g} with the "
      "run.steps {} of the checkpoint's job",
      config.scheduler.type, steps, update + 1, rate_at(config, update), there, steps_there);
}

}  // namespace triax

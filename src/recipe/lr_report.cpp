// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/recipe/lr_schedule.hpp"

namespace triax {
namespace {

const char* name_of(SchedulerKind kind) {
  return scheduler_names[static_cast<std::size_t>(kind)];
}

struct Peak {
  double rate;
  const char* key;  // of the scheduler's own; null: the optimizer's rate
};

Peak peak_of(const Config& config) {
  const SchedulerConfig& c = config.scheduler;
  if (c.kind == SchedulerKind::one_cycle) return {c.cycle_max_lr, "cycle_max_lr"};
  if (c.kind == SchedulerKind::warmup || c.kind == SchedulerKind::warmup_decay)
    return {c.warmup_max_lr, "warmup_max_lr"};
  return {config.optimizer.learning_rate, nullptr};
}

double rate_at(const Config& config, std::int64_t step) {
  return learning_rate(config.scheduler, config.optimizer, step, config.run.steps);
}

}  // namespace

std::string rate_text(const Config& config, std::int64_t first) {
  if (config.scheduler.kind == SchedulerKind::constant)
    return fmt::format("learning rate {:.3g}, constant", config.optimizer.learning_rate);
  const std::int64_t last = config.run.steps - 1;
  return fmt::format("learning rate up to {:.3g} by {}: {:.3g} at step {}, {:.3g} at step {}",
                     peak_of(config).rate, name_of(config.scheduler.kind), rate_at(config, first),
                     first + 1, rate_at(config, last), last + 1);
}

std::vector<std::string> rate_warnings(const Config& config) {
  const SchedulerConfig& c = config.scheduler;
  const std::int64_t steps = config.run.steps;
  std::vector<std::string> lines;
  const Peak peak = peak_of(config);
  if (peak.key != nullptr && config.optimizer.rate_given &&
      config.optimizer.learning_rate != peak.rate)
    lines.push_back(fmt::format("optimizer.params.lr {} is unused: {} has rates of its own, {} {}",
                                config.optimizer.learning_rate, name_of(c.kind), peak.key,
                                peak.rate));
  const bool warms = c.kind == SchedulerKind::warmup || c.kind == SchedulerKind::warmup_decay ||
                     c.kind == SchedulerKind::warmup_cosine;
  const std::int64_t warmup = c.kind == SchedulerKind::cosine ? c.warmup
                              : warms                         ? c.warmup_num_steps
                                                              : 0;
  if (warmup > 0 && warmup >= steps)
    lines.push_back(fmt::format(
        "scheduler.params.{} {} takes all of run.steps {}: the last step has learning rate {:.3g} "
        "of {:.3g}",
        warms ? "warmup_num_steps" : "warmup", warmup, steps, rate_at(config, steps - 1),
        peak.rate));
  // Step s has the rate of the scheduler's iteration s - 1.
  const std::int64_t left = steps - (c.total_num_steps + 1);
  if (c.kind == SchedulerKind::warmup_decay && left > 0)
    lines.push_back(fmt::format(
        "scheduler.params.total_num_steps {} is less than run.steps {}: the last {} steps train at "
        "learning rate {:.3g}",
        c.total_num_steps, steps, left, c.warmup_min_lr));
  return lines;
}

std::string moved_cosine(const Config& config, std::int64_t steps_there, std::int64_t update) {
  const std::int64_t steps = config.run.steps;
  if (config.scheduler.kind != SchedulerKind::cosine || steps_there == steps) return {};
  return fmt::format(
      "the cosine now ends at step {}: the learning rate of step {} is {:.3g}, {:.3g} with the "
      "run.steps {} of the checkpoint's job",
      steps, update + 1, rate_at(config, update),
      learning_rate(config.scheduler, config.optimizer, update, steps_there), steps_there);
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Progress of the warm-up at an iteration inside it: 0 to 1.
double warmup_fraction(const SchedulerConfig& c, std::int64_t iteration, std::int64_t warmup) {
  if (c.warmup_linear) return static_cast<double>(iteration) / static_cast<double>(warmup);
  return std::log(static_cast<double>(iteration) + 1.0) / std::log(static_cast<double>(warmup));
}

// DeepSpeed takes at least two steps, so that the logarithm is not zero.
std::int64_t warmup_steps(const SchedulerConfig& c) {
  return std::max<std::int64_t>(2, c.warmup_num_steps);
}

double warmup_lr(const SchedulerConfig& c, std::int64_t iteration) {
  if (iteration < 0) return c.warmup_min_lr;
  const auto warmup = warmup_steps(c);
  double fraction = 1.0;
  if (iteration < warmup)
    fraction = warmup_fraction(c, iteration, warmup);
  else if (c.kind == SchedulerKind::warmup_decay)
    fraction = std::max(
        0.0, static_cast<double>(c.total_num_steps - iteration) /
                 static_cast<double>(std::max<std::int64_t>(1, c.total_num_steps - warmup)));
  return c.warmup_min_lr + (c.warmup_max_lr - c.warmup_min_lr) * fraction;
}

double warmup_cosine_ratio(const SchedulerConfig& c, std::int64_t iteration) {
  if (iteration < 0) return 0.0;
  const auto warmup = warmup_steps(c);
  if (iteration < warmup)
    return c.warmup_min_ratio + warmup_fraction(c, iteration, warmup) * (1.0 - c.warmup_min_ratio);
  const auto window = std::max<std::int64_t>(1, c.total_num_steps - warmup);
  const double progress =
      std::min(1.0, static_cast<double>(iteration - warmup + 1) / static_cast<double>(window));
  const double ratio = (1.0 + std::cos(std::numbers::pi * progress)) / 2.0;
  return std::max(0.0, c.cos_min_ratio + (1.0 - c.cos_min_ratio) * ratio);
}

double steps_of_cycle(const SchedulerConfig& c) {
  return static_cast<double>(c.cycle_first_step_size) +
         static_cast<double>(c.cycle_second_step_size);
}

// Height in the cycle at `step`: 0 at both ends, 1 at the peak; in stairs if cycle_*_stair_count
// says so.
double cycle_height(const SchedulerConfig& c, std::int64_t step) {
  const double total = steps_of_cycle(c), first = static_cast<double>(c.cycle_first_step_size);
  const double position = std::fmod(static_cast<double>(step), total);
  const bool up = position <= first;
  const double height = up ? position / first : (total - position) / (total - first);
  const auto stairs =
      static_cast<double>(up ? c.cycle_first_stair_count : c.cycle_second_stair_count);
  if (stairs <= 0) return height;
  // From the whole step count, not from `height`: a rounding error must not cost a stair.
  return std::floor(up ? position * stairs / first
                       : (total - position) * stairs / (total - first)) /
         stairs;
}

// Intervals of the decay after the cycle at an iteration of the scheduler.
double decay_intervals(const SchedulerConfig& c, std::int64_t iteration) {
  return (static_cast<double>(iteration) - steps_of_cycle(c) + 1.0) /
         static_cast<double>(c.decay_step_size);
}

bool in_cycle(const SchedulerConfig& c, std::int64_t step) {
  return static_cast<double>(step - 1) < steps_of_cycle(c);
}

double one_cycle_lr(const SchedulerConfig& c, std::int64_t step) {
  if (in_cycle(c, step))
    return c.cycle_min_lr + (c.cycle_max_lr - c.cycle_min_lr) * cycle_height(c, step);
  if (c.decay_step_size == 0) return c.cycle_min_lr;
  return c.cycle_min_lr / (1.0 + c.decay_lr_rate * decay_intervals(c, step - 1));
}

double cosine_lr(const SchedulerConfig& c, double peak, std::int64_t step,
                 std::int64_t total_steps) {
  if (step < c.warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(c.warmup);
  const double window = static_cast<double>(std::max<std::int64_t>(1, total_steps - c.warmup));
  const double progress = std::min(1.0, static_cast<double>(step - c.warmup) / window);
  return c.min_lr + (peak - c.min_lr) / 2.0 * (1.0 + std::cos(std::numbers::pi * progress));
}

bool cycles_momentum(const SchedulerConfig& c) {
  return c.kind == SchedulerKind::one_cycle && c.cycle_momentum;
}

}  // namespace

double learning_rate(const SchedulerConfig& c, const OptimizerConfig& optimizer, std::int64_t step,
                     std::int64_t total_steps) {
  check(step >= 0, "learning rate of step {}", step);
  switch (c.kind) {
    case SchedulerKind::constant:
      return optimizer.learning_rate;
    case SchedulerKind::warmup:
    case SchedulerKind::warmup_decay:
      return warmup_lr(c, step - 1);
    case SchedulerKind::warmup_cosine:
      return optimizer.learning_rate * warmup_cosine_ratio(c, step - 1);
    case SchedulerKind::one_cycle:
      return one_cycle_lr(c, step);
    case SchedulerKind::cosine:
      return cosine_lr(c, optimizer.learning_rate, step, total_steps);
  }
  return optimizer.learning_rate;
}

double beta1_at(const SchedulerConfig& c, const OptimizerConfig& optimizer, std::int64_t step) {
  if (!cycles_momentum(c)) return optimizer.beta1;
  if (step == 0) return c.cycle_min_mom;
  if (in_cycle(c, step))
    return c.cycle_max_mom - (c.cycle_max_mom - c.cycle_min_mom) * cycle_height(c, step);
  if (c.decay_step_size == 0) return c.cycle_max_mom;
  return c.cycle_max_mom * (1.0 + c.decay_mom_rate * decay_intervals(c, step - 1));
}

double beta2_at(const SchedulerConfig& c, const OptimizerConfig& optimizer) {
  return cycles_momentum(c) ? 0.99 : optimizer.beta2;
}

}  // namespace triax

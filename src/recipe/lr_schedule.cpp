// SPDX-License-Identifier: Apache-2.0
#include "src/recipe/lr_schedule.hpp"

#include "kernels/base/check.hpp"
#include "src/config/rates/rates.hpp"

namespace triax {

double learning_rate(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                     std::int64_t step, std::int64_t total_steps) {
  check(step >= 0, "learning rate of step {}", step);
  return rate_schedule(scheduler.type).rate({scheduler, optimizer, step, total_steps});
}

double beta1_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                std::int64_t step) {
  auto* const beta1 = rate_schedule(scheduler.type).beta1;
  return beta1 == nullptr ? optimizer.beta1 : beta1({scheduler, optimizer, step, 0});
}

double beta2_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer) {
  auto* const beta2 = rate_schedule(scheduler.type).beta2;
  return beta2 == nullptr ? optimizer.beta2 : beta2({scheduler, optimizer, 0, 0});
}

}  // namespace triax

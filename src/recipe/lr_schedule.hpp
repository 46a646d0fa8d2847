// SPDX-License-Identifier: Apache-2.0
#pragma once
// Learning rate and betas of each step, by the table of schedules in src/config/rates.
#include <cstdint>

#include "src/config/config.hpp"

namespace triax {

/// The learning rate with which `step` (from 0) trains, of `total_steps` (run.steps).
double learning_rate(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                     std::int64_t step, std::int64_t total_steps);

/// beta1 and beta2 of `step`: the optimizer's, unless the schedule moves them.
double beta1_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                std::int64_t step);
double beta2_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer);

}  // namespace triax

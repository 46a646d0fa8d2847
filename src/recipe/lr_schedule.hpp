// SPDX-License-Identifier: Apache-2.0
#pragma once
// Learning rate (and, for OneCycle, AdamW's betas) of each step, as DeepSpeed's engine produces
// them.
#include <cstdint>

#include "src/config/config.hpp"

namespace triax {

/// The learning rate with which `step` (from 0) trains, of `total_steps` (run.steps; `cosine` alone
/// uses it).
///
/// WarmupLR, WarmupDecayLR, WarmupCosineLR and OneCycle give the values of DeepSpeed 0.19's
/// lr_schedules.py under its engine: the scheduler sets the first step's rate when it is made, and
/// moves on after each optimizer step, so that step s >= 1 trains with the scheduler's value at
/// iteration s - 1. With a warm-up from 0 the first two steps therefore have rate 0.
/// WarmupCosineLR's first step has rate 0 whatever warmup_min_ratio. `cosine`: lr (s+1)/warmup
/// while s < warmup, then half a cosine from lr to min_lr over the remaining steps.
double learning_rate(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                     std::int64_t step, std::int64_t total_steps);

/// beta1 and beta2 of `step`: those of the optimizer, except for OneCycle with cycle_momentum:
/// beta1 moves against the learning rate and beta2 is 0.99. As in DeepSpeed the first step has
/// cycle_min_mom, the next ones begin at the other end of the cycle.
double beta1_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer,
                std::int64_t step);
double beta2_at(const SchedulerConfig& scheduler, const OptimizerConfig& optimizer);

}  // namespace triax

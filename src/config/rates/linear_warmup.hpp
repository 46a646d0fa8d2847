// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warm-up of Hugging Face's schedules: their function of optimization.py gives the factor on the
// optimizer's learning rate, for steps counted from 0. The first step of a warm-up has rate 0.
#include <optional>
#include <string>
#include <vector>

#include "src/config/rates/parameter.hpp"
#include "src/config/rates/rates.hpp"

namespace triax {

/// Parameters of a schedule with such a warm-up: num_warmup_steps, then `more`.
std::vector<RateParameter> with_warmup(std::vector<RateParameter> more);
/// num_cycles of a cosine after the warm-up.
RateParameter cosine_cycles();

/// Fraction of the warm-up that is done, 0 to below 1; nullopt after the warm-up.
std::optional<double> warmup_progress(const RateStep& step);
/// Fraction of the steps from the warm-up to run.steps that is done; above 1 after them.
double decay_progress(const RateStep& step);
/// Height of a cosine of `cycles` waves at `progress`: 1 at the start, 0 after half a wave.
double cosine_height(double cycles, double progress);

}  // namespace triax

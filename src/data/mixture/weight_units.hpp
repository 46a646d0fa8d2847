// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights of data.train in the integer units of a blend.
#include <cstdint>
#include <vector>

#include "src/config/config.hpp"
#include "src/data/mixture/blend.hpp"

namespace triax {

/// Weights of each phase as integers in their exact proportion, as the decimal numbers that the job
/// file has (0.7 is 7/10), with one sum for all phases. Where that sum is above most_blend_units,
/// weights are rounded to multiples of 2^-52.
std::vector<std::vector<std::int64_t>> weight_units(const std::vector<std::vector<double>>& phases);

/// Weight of a source at a step.
double weight_at(const DataSource& source, std::int64_t step);

/// Phases of the job's weights for a run that goes on with step `step` at sample `sample`: the
/// first begins there.
std::vector<BlendPhase> blend_phases(const DataConfig& data, std::int64_t step, std::int64_t sample,
                                     std::int64_t global_batch);

/// Phases that begin at `sample` or hold there, the first with its begin at `sample`, and the units
/// of each in lowest terms: equal for blends that go on alike.
std::vector<BlendPhase> phases_from(const std::vector<BlendPhase>& phases, std::int64_t sample);

}  // namespace triax

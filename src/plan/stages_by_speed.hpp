// SPDX-License-Identifier: Apache-2.0
#pragma once
// parallel.stage_layers "by-speed": blocks of pipeline stages whose ranks differ in speed.
#include <vector>

#include "src/config/config.hpp"

namespace triax {

class ProcessGrid;

/// Collective. Relative speed of each pipeline stage, that of its slowest rank: 1 for the fastest
/// stage, and for those within 5% of it. `rate`: this rank's, in FLOP/s.
std::vector<double> stage_speeds(const ProcessGrid& grid, double rate);

/// The same from the rate of each stage's slowest rank.
std::vector<double> relative_speeds(std::vector<double> rates);

/// Transformer blocks of each global chunk (parallel.stage_layers) with which the slowest stage is
/// as fast as can be. `speeds`: by stage. UsageError as partition_blocks.
std::vector<int> blocks_by_speed(const Config& config, const std::vector<double>& speeds);

}  // namespace triax

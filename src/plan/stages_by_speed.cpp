// SPDX-License-Identifier: Apache-2.0
#include "src/plan/stages_by_speed.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/model/stage/partition.hpp"

namespace triax {

std::vector<double> relative_speeds(std::vector<double> rates) {
  const double fastest = std::ranges::max(rates);
  constexpr double noise = 0.95;  // two measurements of one machine differ by less
  for (double& rate : rates) rate = rate > noise * fastest ? 1.0 : rate / fastest;
  return rates;
}

std::vector<double> stage_speeds(const ProcessGrid& grid, double rate) {
  const std::int64_t own = std::llround(rate);
  const std::vector<std::int64_t> all = gather_over_ranks(grid, std::span(&own, 1));
  std::vector<double> rates(static_cast<std::size_t>(grid.shape().pipeline),
                            std::numeric_limits<double>::infinity());
  for (int rank = 0; rank < grid.size(); ++rank) {
    double& slowest =
        rates[static_cast<std::size_t>(grid.shape().coordinate(rank, Axis::pipeline))];
    slowest = std::min(slowest, static_cast<double>(all[static_cast<std::size_t>(rank)]));
  }
  return relative_speeds(std::move(rates));
}

std::vector<int> blocks_by_speed(const Config& config, const std::vector<double>& speeds) {
  const ParallelConfig& parallel = config.parallel;
  std::vector<double> of_chunks;
  for (int chunk = 0; chunk < parallel.pipeline * parallel.chunks; ++chunk)
    of_chunks.push_back(speeds[static_cast<std::size_t>(chunk % parallel.pipeline)]);
  const std::vector<int> cuts = partition_blocks(config.model, static_cast<int>(of_chunks.size()),
                                                 config.data.sequence_length, of_chunks);
  std::vector<int> blocks;
  for (std::size_t chunk = 0; chunk + 1 < cuts.size(); ++chunk)
    blocks.push_back(cuts[chunk + 1] - cuts[chunk]);
  return blocks;
}

}  // namespace triax

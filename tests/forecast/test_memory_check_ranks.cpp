// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_check.hpp"

#include <algorithm>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// The job fits the machine with one rank, not with many.
TEST(CheckFitsOfAGrid, IsTheSameErrorOnEveryRank) {
  PlacedConfig config;
  config.data.sequence_length = 16;
  config.parallel.data = world_size();
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  EXPECT_EQ(std::ssize(grid.ranks_of_node()), grid.node_size());
  const auto check = [&] { check_fits(config, MemoryPlan(config, step_plans(config), 0), grid); };
  EXPECT_NO_THROW(check());
  // A vocabulary whose state alone fills a rank's share of the machine.
  const double part = node_limit().bytes / grid.node_size();
  config.model.vocabulary = static_cast<int>(std::min(1e9, part / (16.0 * 768.0)));
  EXPECT_THROW(check(), UsageError);
}

}  // namespace
}  // namespace triax::test

#include "src/train/memory_check.hpp"

#include <algorithm>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Each rank has a part of its node's memory: what one rank could hold, many at once cannot.
TEST(CheckMemoryOfAGrid, IsTheSameErrorOnEveryRank) {
  Config config;
  config.parallel.data = world_size();
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  EXPECT_NO_THROW(check_memory(config, grid));
  const double part = node_memory() / grid.node_size();
  // A vocabulary whose state alone fills it.
  config.model.vocabulary = static_cast<int>(std::min(1e9, part / (16.0 * 768.0)));
  EXPECT_THROW(check_memory(config, grid), UsageError);
}

}  // namespace
}  // namespace triax::test

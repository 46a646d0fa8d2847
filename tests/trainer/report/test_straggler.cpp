// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/straggler.hpp"

#include <unistd.h>

#include "tests/io/rank_fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

TEST(Straggler, IsWhoSpendsFarLessThanTheOthers) {
  EXPECT_TRUE(one_is_waited_for({.mean = 20.0, .least = 1.0, .seconds = 100.0}));
  EXPECT_FALSE(one_is_waited_for({.mean = 20.0, .least = 15.0, .seconds = 100.0}));
  EXPECT_FALSE(one_is_waited_for({.mean = 1.0, .least = 0.1, .seconds = 100.0})) << "little lost";
  EXPECT_FALSE(one_is_waited_for({})) << "one rank, or messages of a GPU alone";
  EXPECT_EQ(rank_of_least({3.0, 4.0, 0.5, 2.0}), 2);
}

// The last rank is late in every sum.
TEST(Straggler, IsNamed) {
  ProcessGrid grid(MPI_COMM_WORLD, {.data = world_size()});
  const int last = grid.size() - 1;
  const Stream host;
  for (int step = 0; step < 4; ++step) {
    if (grid.rank() == last) usleep(400'000);
    float number = 1.0F;
    grid.data().all_reduce(host, Tensor(&number, {1})).wait(host);
  }
  const std::string text = straggler_text(grid, 1.6);
  if (grid.size() == 1) {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_THAT(text, HasSubstr("rank " + std::to_string(last) + " (data "));
  }
}

}  // namespace
}  // namespace triax::test

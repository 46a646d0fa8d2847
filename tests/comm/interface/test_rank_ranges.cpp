// SPDX-License-Identifier: Apache-2.0
#include "src/comm/interface/rank_ranges.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(RankRanges, JoinConsecutiveRanks) {
  EXPECT_EQ(ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks_text({2, 3}), "ranks 2-3");
  EXPECT_EQ(ranks_text({0, 1, 2, 4, 8, 9}), "ranks 0-2, 4, 8-9");
  EXPECT_EQ(ranks_text({9, 0, 8, 1}), "ranks 0-1, 8-9") << "in any order";
}

TEST(RankRanges, AreCutToTheFirst) {
  EXPECT_EQ(ranks_text({0, 2, 4, 6}, 4), "ranks 0, 2, 4, 6");
  EXPECT_EQ(ranks_text({0, 1, 3, 5, 7, 9, 11}, 4), "ranks 0-1, 3, 5, 7, ...");
}

}  // namespace
}  // namespace triax

#include "kernels/base/parallel.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace triax {
namespace {

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (const std::int64_t n : {0, 1, 7, 1000}) {
    std::vector<int> visits(static_cast<std::size_t>(n), 0);
    int* count = visits.data();
    parallel_for(n, [=](std::int64_t i) { ++count[i]; });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(ParallelForBlocks, CoversTheRangeWithBlocksOfTheSizeAsked) {
  for (const std::int64_t n : {0, 1, 9, 10, 11, 1000}) {
    std::vector<int> visits(static_cast<std::size_t>(n), 0);
    int* count = visits.data();
    parallel_for_blocks(n, 10, [=](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 10, 0);
      EXPECT_LE(end - begin, 10);
      for (std::int64_t i = begin; i < end; ++i) ++count[i];
    });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
  }
}

TEST(HostConcurrency, IsAtLeastOne) {
  EXPECT_GE(host_concurrency(), 1);
}

}  // namespace
}  // namespace triax

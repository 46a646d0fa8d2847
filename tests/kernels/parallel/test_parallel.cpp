// SPDX-License-Identifier: Apache-2.0
#include "kernels/parallel/parallel.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

namespace triax {
namespace {

void expect_a_visit_each(std::int64_t n) {
  std::vector<int> visits(static_cast<std::size_t>(n), 0);
  int* count = visits.data();
  parallel_for(n, [=](std::int64_t i) { ++count[i]; });
  EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
}

TEST(ParallelFor, VisitsEachIndexOnceOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3, 8}) {
    omp_set_num_threads(threads);
    EXPECT_GE(host_concurrency(), threads);
    for (const std::int64_t n : {0, 1, 2, 7, 1000}) expect_a_visit_each(n);
  }
  omp_set_num_threads(before);
}

TEST(ParallelFor, RunsOnOneThreadWithinAnother) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(2);
  std::vector<std::int64_t> seen(2, 0);
  std::int64_t* out = seen.data();
  parallel_for(2, [=](std::int64_t i) {
    parallel_for(3, [=](std::int64_t) { out[i] += host_concurrency(); });
  });
  EXPECT_EQ(seen, std::vector<std::int64_t>(2, 3));
  omp_set_num_threads(before);
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

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/interface/traffic.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(Traffic, CountsTheTextbookRing) {
  EXPECT_EQ(ring::all_reduce(4, 1000), (Traffic{1, 1500}));
  EXPECT_EQ(ring::reduce_scatter(4, 1000), (Traffic{1, 750}));
  EXPECT_EQ(ring::all_gather(4, 1000), (Traffic{1, 750}));
  EXPECT_EQ(ring::broadcast(4, 1000), (Traffic{1, 750}));
  EXPECT_EQ(ring::send(1000), (Traffic{1, 1000}));
}

TEST(Traffic, RoundsDownOnce) {
  EXPECT_EQ(ring::all_reduce(3, 4).bytes, 5U);  // 16/3
  EXPECT_EQ(ring::all_gather(3, 4).bytes, 2U);  // 8/3
}

TEST(Traffic, AGroupOfOneSendsNothing) {
  EXPECT_EQ(ring::all_reduce(1, 1000), Traffic{});
  EXPECT_EQ(ring::reduce_scatter(1, 1000), Traffic{});
  EXPECT_EQ(ring::all_gather(1, 1000), Traffic{});
  EXPECT_EQ(ring::broadcast(1, 1000), Traffic{});
}

TEST(Traffic, DoesNotOverflow) {
  constexpr std::uint64_t exabyte = 1'000'000'000'000'000'000U;
  EXPECT_EQ(ring::all_gather(1000, exabyte).bytes, exabyte / 1000 * 999);
}

TEST(Traffic, Adds) {
  Traffic sum = Traffic{1, 2} + Traffic{3, 4};
  sum += Traffic{10, 20};
  EXPECT_EQ(sum, (Traffic{14, 26}));
}

}  // namespace
}  // namespace triax

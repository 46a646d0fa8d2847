// SPDX-License-Identifier: Apache-2.0
#include "src/price/message_times.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

Machine network() {
  Machine m;
  m.inside = {100e9, 1e-6};
  m.between = {10e9, 1e-5};
  m.efficiency.network = 0.5;
  return m;
}

TEST(BusBandwidth, IsThatOfTheLinkThatIsCrossed) {
  EXPECT_DOUBLE_EQ(bus_bandwidth({8, 8}, network()), 50e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth({8, 1}, network()), 5e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth({8, 4}, network()), 20e9);    // four ports of a node
  EXPECT_DOUBLE_EQ(bus_bandwidth({64, 32}, network()), 50e9);  // never more than the link inside
}

TEST(MessageSeconds, ARingSendsItsVolume) {
  const Messages sum = planned_all_reduce(4, 1'000'000'000);
  const Messages half = planned_reduce_scatter(4, 1'000'000'000);
  // 2 x 3/4 of a gigabyte at 50 GB/s, and a tree of depth two, up and down.
  EXPECT_NEAR(message_seconds(sum, {4, 4}, network()), 1.5 / 50 + 4e-6, 1e-9);
  EXPECT_NEAR(message_seconds(half, {4, 4}, network()), 0.75 / 50 + 3e-6, 1e-9);
  EXPECT_GT(message_seconds(half, {4, 2}, network()), message_seconds(half, {4, 4}, network()));
}

TEST(MessageSeconds, NothingTakesNoTime) {
  EXPECT_EQ(message_seconds({}, {4, 4}, network()), 0.0);
  EXPECT_EQ(message_seconds(planned_all_reduce(1, 100), {1, 1}, network()), 0.0);
}

TEST(SendSeconds, HasLatencyAndLink) {
  EXPECT_DOUBLE_EQ(send_seconds(50e9, true, network()), 1.0 + 1e-6);
  EXPECT_DOUBLE_EQ(send_seconds(50e9, false, network()), 10.0 + 1e-5);
}

}  // namespace
}  // namespace triax

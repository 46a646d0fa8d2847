// SPDX-License-Identifier: Apache-2.0
#include "src/machine/here/this_machine.hpp"

#include <gtest/gtest.h>

#include "src/machine/description.hpp"

namespace triax {
namespace {

TEST(HalfSide, IsFoundFromTwoRates) {
  const auto rate = [](double side, double half) {
    const double share = side / (side + half);
    return 1e9 * share * share * share;
  };
  for (const double half : {0.0, 20.0, 60.0, 100.0})
    EXPECT_NEAR(half_side_of(128.0, rate(128.0, half), 1024.0, rate(1024.0, half)), half, 1e-9);
  EXPECT_EQ(half_side_of(128.0, 2.0, 1024.0, 1.0), 0.0);  // noise: the small one was quicker
}

TEST(ThisMachine, HasSensibleFiguresThatADescriptionKeeps) {
  const Machine one = this_machine(2);
  EXPECT_EQ(one.ranks_per_node, 2);
  EXPECT_EQ(one.space, MemorySpace::host);
  EXPECT_GT(one.f32_flops, 1e9);
  EXPECT_GT(one.memory_bandwidth, 1e8);
  EXPECT_GT(one.memory, 1e8);
  EXPECT_NO_THROW(parse_machine(machine_json(one), "this.json"));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/slot_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

TEST(SlotPool, HandsOutEachSlotOnce) {
  SlotPool<int> pool;
  std::set<std::size_t> taken;
  for (int i = 0; i < 200; ++i) {
    const std::size_t slot = pool.take();
    EXPECT_TRUE(taken.insert(slot).second) << "slot " << slot << " twice";
    pool[slot] = i;
  }
  for (const std::size_t slot : {3U, 150U, 77U}) pool.give_back(slot);
  const std::set<std::size_t> again = {pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(again, (std::set<std::size_t>{3, 77, 150}));
  EXPECT_FALSE(taken.contains(pool.take())) << "none was free";
}

// Buffers of a message keep their memory between uses.
TEST(SlotPool, WhatIsInASlotStays) {
  SlotPool<std::string> pool;
  const std::size_t slot = pool.take();
  pool[slot] = "a buffer";
  pool.give_back(slot);
  EXPECT_EQ(pool.take(), slot);
  EXPECT_EQ(pool[slot], "a buffer");
}

TEST(SlotPool, AllocatesOnlyForMoreThanEverBefore) {
  SlotPool<int> pool;
  std::vector<std::size_t> slots(100);
  const auto take_all = [&] {
    for (std::size_t& slot : slots) slot = pool.take();
  };
  const auto give_back_all = [&] {
    for (const std::size_t slot : slots) pool.give_back(slot);
  };
  take_all();
  const long before = allocation_count();
  give_back_all();
  take_all();
  give_back_all();
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace triax

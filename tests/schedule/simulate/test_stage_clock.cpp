// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/simulate/stage_clock.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace triax {
namespace {

TEST(StageClock, TransfersOfOneKindFollowEachOther) {
  const Plan plan = {{.kind = OpKind::ReduceStart, .block = 0},
                     {.kind = OpKind::ReduceStart, .block = 1},
                     {.kind = OpKind::ReduceWait, .block = 1}};
  StageClock clock(0, plan, false);
  clock.run({.transfer = 2.0});
  clock.run({.transfer = 3.0});
  EXPECT_DOUBLE_EQ(clock.now(), 0.0);
  clock.run({});
  EXPECT_DOUBLE_EQ(clock.now(), 5.0);
  EXPECT_DOUBLE_EQ(clock.times().data, 5.0);
  EXPECT_TRUE(clock.at_end());
}

TEST(StageClock, StoresAndReductionsRunSideBySide) {
  const Plan plan = {{.kind = OpKind::ReduceStart},
                     {.kind = OpKind::FetchStart},
                     {.kind = OpKind::FetchWait},
                     {.kind = OpKind::ReduceWait}};
  StageClock clock(0, plan, false);
  clock.run({.transfer = 2.0});
  clock.run({.transfer = 3.0});
  clock.run({});
  clock.run({});
  EXPECT_DOUBLE_EQ(clock.now(), 3.0);
  EXPECT_DOUBLE_EQ(clock.times().store, 3.0);
  EXPECT_DOUBLE_EQ(clock.times().data, 0.0);
}

TEST(StageClock, AReductionOfAnotherMicrobatchIsTheSameBlocks) {
  const Plan plan = {{.kind = OpKind::ReduceStart, .block = 2},
                     {.kind = OpKind::ReduceWait, .microbatch = 3, .block = 2}};
  StageClock clock(0, plan, false);
  clock.run({.transfer = 1.0});
  clock.run({});
  EXPECT_DOUBLE_EQ(clock.now(), 1.0);
}

TEST(StageClock, AWaitWithoutStartIsRefusedByName) {
  const Plan plan = {{.kind = OpKind::GatherWait, .block = 4}};
  StageClock clock(1, plan, false);
  try {
    clock.run({});
    FAIL() << "no error";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "stage 1, op 0 (gather b4 p0 wait): was never started");
  }
}

TEST(StageClock, WaitingNeverGoesBack) {
  const Plan plan = {{.kind = OpKind::Step}};
  StageClock clock(0, plan, true);
  clock.pass(2.0);
  clock.wait(1.0, &StageTimes::pipeline);
  EXPECT_DOUBLE_EQ(clock.now(), 2.0);
  clock.wait(3.0, &StageTimes::pipeline);
  EXPECT_DOUBLE_EQ(clock.times().pipeline, 1.0);
  EXPECT_DOUBLE_EQ(clock.times().end(), 3.0);
  EXPECT_EQ(clock.times().intervals.size(), 1U);
}

}  // namespace
}  // namespace triax

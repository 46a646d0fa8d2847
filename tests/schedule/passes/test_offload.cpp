// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/passes/passes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using testing::ElementsAre;

// Two blocks in parts; part 0 of the first block stays in memory.
Plan offloaded(int buffers, bool fetch_ahead, bool store_behind) {
  PlanShape shape{.stages = 1, .layers = {{2}}};
  shape.blocks = {
      {{.layers = {{0, 0}}, .parts = 3, .kept_parts = 1}, {.layers = {{0, 1}}, .parts = 1}}};
  shape.state_buffers = buffers;
  shape.fetch_ahead = fetch_ahead;
  shape.store_behind = store_behind;
  const Plan plan = add_offload(add_update({{}}, shape), shape)[0];
  Plan whole_step = training_plans("1f1b", shape)[0];
  EXPECT_EQ(verify({whole_step}, shape, PlanUse::training)[0].states,
            std::min(buffers, 1 + (fetch_ahead ? 1 : 0) + (store_behind ? 1 : 0)));
  return plan;
}

TEST(AddOffload, EachPartWaitsForTheDiskWithoutPipelining) {
  EXPECT_THAT(
      lines_of(offloaded(4, false, false)),
      ElementsAre("norm", "step b0 p0", "fetch b0 p1 start", "fetch b0 p1 wait", "step b0 p1",
                  "store b0 p1 start", "store b0 p1 wait", "fetch b0 p2 start", "fetch b0 p2 wait",
                  "step b0 p2", "store b0 p2 start", "store b0 p2 wait", "fetch b1 p0 start",
                  "fetch b1 p0 wait", "step b1 p0", "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, OneBufferIsFetchedAheadOfTheNormOnly) {
  EXPECT_THAT(
      lines_of(offloaded(1, true, true)),
      ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait", "step b0 p1",
                  "store b0 p1 start", "store b0 p1 wait", "fetch b0 p2 start", "fetch b0 p2 wait",
                  "step b0 p2", "store b0 p2 start", "store b0 p2 wait", "fetch b1 p0 start",
                  "fetch b1 p0 wait", "step b1 p0", "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, TheNextPartIsFetchedAndTheLastStoredWhileOneIsStepped) {
  EXPECT_THAT(lines_of(offloaded(4, true, true)),
              ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait",
                          "fetch b0 p2 start", "step b0 p1", "store b0 p1 start",
                          "fetch b0 p2 wait", "fetch b1 p0 start", "step b0 p2", "store b0 p1 wait",
                          "store b0 p2 start", "fetch b1 p0 wait", "step b1 p0", "store b0 p2 wait",
                          "store b1 p0 start", "store b1 p0 wait"));
}

TEST(AddOffload, TwoBuffersServeBothDirections) {
  EXPECT_THAT(lines_of(offloaded(2, true, true)),
              ElementsAre("fetch b0 p1 start", "norm", "step b0 p0", "fetch b0 p1 wait",
                          "fetch b0 p2 start", "step b0 p1", "store b0 p1 start",
                          "fetch b0 p2 wait", "store b0 p1 wait", "fetch b1 p0 start", "step b0 p2",
                          "store b0 p2 start", "fetch b1 p0 wait", "step b1 p0", "store b0 p2 wait",
                          "store b1 p0 start", "store b1 p0 wait"));
}

}  // namespace
}  // namespace triax

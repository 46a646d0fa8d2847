// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/schedule/passes/passes.hpp"
#include "src/schedule/verify/verify.hpp"
#include "tests/schedule/plan_shapes.hpp"

namespace triax {
namespace {

using test::lines_of;
using testing::ElementsAre;

PlanShape shape_of(ZeroStage zero, bool data_parallel) {
  PlanShape shape{.stages = 1, .layers = {{2}}, .data_parallel = data_parallel, .zero = zero};
  shape.blocks = {{{.layers = {{0, 0}}}, {.layers = {{0, 1}}, .orthogonal = true}}};
  return shape;
}

std::vector<std::string> update_of(const PlanShape& shape) {
  verify(training_plans("1f1b", shape), shape, PlanUse::training);
  return lines_of(add_offload(add_orthogonalization(add_update({{}}, shape), shape), shape)[0]);
}

TEST(AddOrthogonalization, OneRankSendsNothing) {
  EXPECT_THAT(update_of(shape_of(ZeroStage::none, false)),
              ElementsAre("norm", "step b0", "momentum b1", "orthogonalize b1", "step b1"));
}

TEST(AddOrthogonalization, WholeStatesNeedNoGather) {
  EXPECT_THAT(update_of(shape_of(ZeroStage::none, true)),
              ElementsAre("norm", "step b0", "momentum b1", "orthogonalize b1",
                          "broadcast direction b1", "step b1"));
}

TEST(AddOrthogonalization, ShardsAreGatheredFirst) {
  EXPECT_THAT(update_of(shape_of(ZeroStage::parameters, true)),
              ElementsAre("norm", "step b0", "momentum b1", "gather direction b1",
                          "orthogonalize b1", "broadcast direction b1", "step b1"));
}

// The momentum of all parts comes before the first step, so that each part is fetched twice.
TEST(AddOrthogonalization, PartsInAStoreComeTwice) {
  PlanShape shape = shape_of(ZeroStage::none, false);
  shape.blocks[0][1].parts = 2;
  shape.blocks[0][1].kept_parts = 1;
  EXPECT_THAT(
      update_of(shape),
      ElementsAre("norm", "step b0", "momentum b1 p0", "fetch b1 p1 start", "fetch b1 p1 wait",
                  "momentum b1 p1", "store b1 p1 start", "store b1 p1 wait", "orthogonalize b1",
                  "step b1 p0", "fetch b1 p1 start", "fetch b1 p1 wait", "step b1 p1",
                  "store b1 p1 start", "store b1 p1 wait"));
}

// A part that is still being stored is not fetched again before.
TEST(AddOrthogonalization, APartIsStoredBeforeItIsFetchedAgain) {
  PlanShape shape = shape_of(ZeroStage::none, false);
  shape.blocks[0][1].parts = 1;
  shape.state_buffers = 4;
  shape.fetch_ahead = shape.store_behind = true;
  EXPECT_THAT(
      update_of(shape),
      ElementsAre("fetch b1 p0 start", "norm", "step b0", "fetch b1 p0 wait", "momentum b1 p0",
                  "store b1 p0 start", "orthogonalize b1", "store b1 p0 wait", "fetch b1 p0 start",
                  "fetch b1 p0 wait", "step b1 p0", "store b1 p0 start", "store b1 p0 wait"));
}

}  // namespace
}  // namespace triax

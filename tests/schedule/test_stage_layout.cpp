// SPDX-License-Identifier: Apache-2.0
#include "src/schedule/stage_layout.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(StageLayout, SeveralStages) {
  const PlanShape shape{.stages = 2, .chunks = 2, .layers = {{2, 3}, {1, 2}}};
  const StageLayout first(shape, 0);
  EXPECT_EQ(first.chunks(), 2);
  EXPECT_EQ(first.layers(), 5);
  EXPECT_EQ(first.layer_index(1, 2), 4);
  EXPECT_EQ(first.boundary(0, 2), 2);  // the output of chunk 0
  EXPECT_EQ(first.boundary(1, 0), 3);  // the input of chunk 1 is another activation
  EXPECT_EQ(first.boundaries(), 7);
  EXPECT_EQ(first.global_chunk(1), 2);
  EXPECT_FALSE(first.has_input(0, 0));
  EXPECT_TRUE(first.has_input(0, 1));
  EXPECT_TRUE(first.has_input(1, 0));
  EXPECT_FALSE(first.has_message_before(0));
  EXPECT_TRUE(first.has_message_before(1));
  EXPECT_TRUE(first.has_message_after(1));

  const StageLayout last(shape, 1);
  EXPECT_TRUE(last.has_output(0, 0));
  EXPECT_TRUE(last.has_output(1, 0));
  EXPECT_FALSE(last.has_output(1, 1));
  EXPECT_TRUE(last.has_message_after(0));
  EXPECT_FALSE(last.has_message_after(1));
}

TEST(StageLayout, OneStageSharesTheBoundaryBetweenChunks) {
  const StageLayout layout({.stages = 1, .chunks = 3, .layers = {{2, 1, 2}}}, 0);
  EXPECT_EQ(layout.boundary(0, 2), layout.boundary(1, 0));
  EXPECT_EQ(layout.boundary(1, 1), layout.boundary(2, 0));
  EXPECT_EQ(layout.boundaries(), 6);
  EXPECT_EQ(layout.boundary(2, 2), 5);
  for (int c = 0; c < 3; ++c) {
    EXPECT_FALSE(layout.has_message_before(c));
    EXPECT_FALSE(layout.has_message_after(c));
  }
  EXPECT_FALSE(layout.has_output(2, 1));
}

}  // namespace
}  // namespace triax

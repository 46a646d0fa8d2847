// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/spelling.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(Spelling, CountsEdits) {
  EXPECT_EQ(edits("train", "train"), 0U);
  EXPECT_EQ(edits("trian", "train"), 1U);  // neighbours swapped
  EXPECT_EQ(edits("tran", "train"), 1U);
  EXPECT_EQ(edits("traain", "train"), 1U);
  EXPECT_EQ(edits("brain", "train"), 1U);
  EXPECT_EQ(edits("", "train"), 5U);
  EXPECT_EQ(edits("ca", "abc"), 3U);  // a swapped pair is not edited again
}

TEST(Spelling, FindsTheNearestWord) {
  EXPECT_EQ(nearest_word("trian", {"config", "train", "generate"}), "train");
  EXPECT_EQ(nearest_word("x", {"ab", "cd"}), "ab");
  EXPECT_EQ(nearest_word("x", {}), "");
}

}  // namespace
}  // namespace triax

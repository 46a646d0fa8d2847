// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/io/checkpoint_kinds.hpp"

#include <gtest/gtest.h>

#include <set>

namespace triax {
namespace {

TEST(CheckpointKinds, HaveANameEach) {
  const std::vector<std::string> names = names_of(kinds_of(2));
  EXPECT_EQ(names.size(), kinds.size());
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

// A name that would run nothing is not there to be given.
TEST(CheckpointKinds, LeaveOutCollectiveOnesOfOneRank) {
  const std::vector<std::string> names = names_of(kinds_of(1));
  EXPECT_EQ(names.size(), kinds.size() - 2);
  EXPECT_EQ(std::ranges::count(names, "write collective"), 0);
}

}  // namespace
}  // namespace triax

#include "benchmarks/io/checkpoint_kinds.hpp"

#include <gtest/gtest.h>

#include <set>

namespace triax {
namespace {

TEST(CheckpointKinds, HaveANameEach) {
  const std::vector<std::string> names = all_names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(CheckpointKinds, LeaveOutCollectiveOnesOfOneRank) {
  EXPECT_EQ(chosen({}, 2).size(), kinds.size());
  EXPECT_EQ(chosen({}, 1).size(), kinds.size() - 2);
  const std::vector<Kind> named = chosen({"verify", "async"}, 1);
  ASSERT_EQ(named.size(), 2U);
  EXPECT_STREQ(named[0].name, "async");
}

TEST(CheckpointKinds, RefuseANameThatWouldRunNothing) {
  EXPECT_THROW(chosen({"write collective"}, 1), UsageError);
}

}  // namespace
}  // namespace triax

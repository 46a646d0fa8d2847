// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/directory_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/fixtures.hpp"

namespace triax::doctor {
namespace {

using testing::IsEmpty;
using testing::Not;

TEST(FileSystemOf, TakesTheLongestMountPointThatBeginsThePath) {
  const std::string mounts =
      "/dev/sda / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\nlfs /home/big lustre rw 0 0\n"
      "tmpfs /a\\040b tmpfs rw 0 0\n";
  EXPECT_EQ(file_system_of("/home/me/run", mounts), "nfs4");
  EXPECT_EQ(file_system_of("/home/big", mounts), "lustre");
  EXPECT_EQ(file_system_of("/home/bigger", mounts), "nfs4") << "no part of a name";
  EXPECT_EQ(file_system_of("/var", mounts), "ext4");
  EXPECT_EQ(file_system_of("/a b/run", mounts), "tmpfs");
  EXPECT_EQ(file_system_of("/home", ""), "unknown");
}

TEST(FileSystemOf, TakesTheLastOfTwoMountsAtOnePoint) {
  EXPECT_EQ(file_system_of("/data/x", "a /data ext4 rw 0 0\nb /data xfs rw 0 0\n"), "xfs");
}

TEST(DirectoryFacts, LeavesNothingInTheDirectory) {
  const test::TempDirectory directory;
  const DirectoryFacts facts = directory_facts(directory.path(""));
  EXPECT_THAT(facts.problem, IsEmpty());
  EXPECT_GT(facts.free_bytes, 0.0);
  EXPECT_THAT(facts.transfers, Not(IsEmpty()));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path("")));
}

TEST(DirectoryFacts, SaysWhyNothingCanBeWritten) {
  const test::TempDirectory directory;
  EXPECT_THAT(directory_facts(directory.path("absent")).problem, Not(IsEmpty()));
}

}  // namespace
}  // namespace triax::doctor

// A rank that does not come to a message of NCCL: the others, who wait for their devices, say
// which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace triax {
namespace {

using testing::HasSubstr;

TEST(NcclStall, TheWatchdogNamesTheMessageAndWhoDidNotJoin) {
  std::FILE* const job =
      ::popen("TRIAX_TEST_DEVICES=own timeout 60 " MPIEXEC " 3 " NCCL_PROBE " 2>&1", "r");
  ASSERT_NE(job, nullptr);
  std::string said;
  std::array<char, 4096> piece{};
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), job))
    said.append(piece.data(), read);
  const int status = ::pclose(job);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3) << said;
  EXPECT_THAT(said, HasSubstr("messages by NCCL"));
  EXPECT_THAT(said, HasSubstr("for all-reduce 2 of 400 bytes, data axis"));
  EXPECT_THAT(said, HasSubstr("joined it: ranks 0"));
  EXPECT_THAT(said, HasSubstr("did not join: rank 2"));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
// One rank never joins an NCCL message; the others, which wait for their devices, report it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace triax {
namespace {

using testing::HasSubstr;

// Output of the probe's ranks, and its exit status.
std::pair<std::string, int> probe(const char* argument) {
  const std::string command =
      std::string("TRIAX_TEST_DEVICES=own timeout 60 " MPIEXEC " 3 " NCCL_PROBE " ") + argument +
      " 2>&1";
  std::FILE* const job = ::popen(command.c_str(), "r");
  if (job == nullptr) return {"no process", -1};
  std::string said;
  std::array<char, 4096> piece{};
  while (const std::size_t read = std::fread(piece.data(), 1, piece.size(), job))
    said.append(piece.data(), read);
  const int status = ::pclose(job);
  return {said, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST(NcclStall, TheWatchdogNamesTheMessageAndWhoDidNotJoin) {
  const auto [said, status] = probe("");
  EXPECT_EQ(status, 3) << said;
  EXPECT_THAT(said, HasSubstr("messages by NCCL"));
  EXPECT_THAT(said, HasSubstr("for all-reduce 2 of 400 bytes, data axis"));
  EXPECT_THAT(said, HasSubstr("joined it: ranks 0"));
  EXPECT_THAT(said, HasSubstr("did not join: rank 2"));
}

TEST(NcclStall, TheWatchdogNamesTheOtherEndOfASend) {
  const auto [said, status] = probe("exchange");
  EXPECT_EQ(status, 3) << said;
  EXPECT_THAT(said, HasSubstr("for a send of 400 bytes to rank 2 (tag 7), data axis"));
  EXPECT_THAT(said, HasSubstr("did not join: rank 2"));
}

}  // namespace
}  // namespace triax

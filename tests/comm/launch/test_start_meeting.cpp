// SPDX-License-Identifier: Apache-2.0
// tests/commands/test_start.cpp has ranks that never come.
#include "src/comm/launch/start_meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/process/host_name.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/comm/watchdog/watchdog.hpp"
#include "tests/comm/grid_world.hpp"

namespace triax {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(StartMeeting, IsOverWhenAllHaveCome) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds late{200};
  for (const int last : {0, world_size() - 1}) {
    const StartMeeting meeting(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    if (world_rank() == last) std::this_thread::sleep_for(late);
    meeting.meet(600.0);
    EXPECT_GE(Clock::now() - begin, world_size() > 1 ? late / 2 : late * 0) << last;
  }
}

// Text of the error thrown on this rank. Ranks in `failing` fail with their own reason, or with a
// shared one.
std::string thrown(const std::vector<int>& failing, bool shared) {
  const StartMeeting meeting(MPI_COMM_WORLD);
  const bool fails = std::ranges::find(failing, world_rank()) != failing.end();
  try {
    if (fails)
      meeting.fail(shared ? "a wrong key" : fmt::format("none at {}", world_rank()), usage_failure);
    meeting.meet(600.0);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(StartMeeting, AllHearWhyOneCannotGoOn) {
  const int last = world_size() - 1;
  const std::string host = " on " + host_name() + ": ";
  for (const int failing : {0, last}) {
    const std::string who = world_size() > 1 ? fmt::format("rank {}{}", failing, host) : "";
    EXPECT_EQ(thrown({failing}, false), fmt::format("{}none at {}", who, failing));
  }
}

TEST(StartMeeting, WhatAllFindIsOfNoRank) {
  std::vector<int> all(static_cast<std::size_t>(world_size()));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(thrown(all, true), "a wrong key");
  if (world_size() == 1) return;
  const std::string host = " on " + host_name() + ": ";
  EXPECT_EQ(thrown(all, false), "rank 0" + host + "none at 0") << "the lowest of different ones";
  all.erase(all.begin());
  EXPECT_EQ(thrown(all, true), "rank 1" + host + "a wrong key") << "rank 0 found nothing wrong";
}

// Ranks that have given up on rank 0 have left the meeting: its messages to them must match nobody
// and write nowhere.
TEST(StartMeeting, Rank0HearsWhyThoseWentThatDidNotWait) {
  if (world_size() == 1) GTEST_SKIP() << "needs others";
  std::string heard;
  std::vector<std::string> after;
  try {
    const StartMeeting meeting(MPI_COMM_WORLD, 0.05);
    if (world_rank() > 0) meeting.fail("a wrong key", usage_failure);
    for (int r = 1; r < world_size(); ++r)
      MPI_Recv(nullptr, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    meeting.meet(600.0);
  } catch (const UsageError& error) {
    heard = error.what();
  }
  // Allocations where a verdict would be written if a receive were still posted.
  for (int i = 0; i < 64; ++i) after.emplace_back(4096 + 256, 'x');
  if (world_rank() > 0) MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  for (const std::string& each : after) EXPECT_EQ(each.find_first_not_of('x'), std::string::npos);
  EXPECT_THAT(heard, HasSubstr("a wrong key"));
}

TEST(StartMeeting, WhatTheFirstToComeFindIsOfThem) {
  if (world_size() < 3) GTEST_SKIP() << "needs two that come and one that does not";
  const int last = world_size() - 1;
  std::string heard;
  try {
    const StartMeeting meeting(MPI_COMM_WORLD, 30.0);
    if (world_rank() == last)
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    meeting.fail("a wrong key", usage_failure);
  } catch (const UsageError& error) {
    heard = error.what();
  }
  if (world_rank() == 0) MPI_Send(nullptr, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD);
  EXPECT_THAT(heard, StartsWith("a wrong key (found by rank 0 on "));
  EXPECT_THAT(heard, EndsWith(fmt::format("; 1 of {} had not yet come)", world_size())));
}

TEST(StartMeeting, AFailureOfTheMachineIsNotTheJobs) {
  const StartMeeting meeting(MPI_COMM_WORLD);
  try {
    if (world_rank() == 0) meeting.fail("disk", run_time_failure);
    meeting.meet(600.0);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError&) {
    ADD_FAILURE() << "status 2";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("disk"), std::string::npos);
  }
}

TEST(StartMeeting, NamesTheFirstFewThatAreMissing) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c", "c", "d", "d", "e", "e"};
  EXPECT_EQ(ranks_on_hosts({2}, hosts), "rank 2 on b");
  EXPECT_EQ(ranks_on_hosts({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, hosts),
            "rank 0 on a, rank 1 on a, rank 2 on b, rank 3 on b, rank 4 on c, rank 5 on c, rank 6 "
            "on d, rank 7 on d and 2 more");
}

}  // namespace
}  // namespace triax

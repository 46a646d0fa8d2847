// tests/commands/test_start.cpp has ranks that never come.
#include "src/comm/start_meeting.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/comm/grid_world.hpp"

namespace triax {
namespace {

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

TEST(StartMeeting, NamesTheFirstFewThatAreMissing) {
  const std::vector<std::string> hosts = {"a", "a", "b", "b", "c", "c", "d", "d", "e", "e"};
  EXPECT_EQ(ranks_on_hosts({2}, hosts), "rank 2 on b");
  EXPECT_EQ(ranks_on_hosts({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, hosts),
            "rank 0 on a, rank 1 on a, rank 2 on b, rank 3 on b, rank 4 on c, rank 5 on c, "
            "rank 6 on d, rank 7 on d and 2 more");
}

}  // namespace
}  // namespace triax

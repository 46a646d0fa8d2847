// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/progress_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "src/comm/watchdog/watchdog.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

struct World {
  int rank = 0, size = 1;
  ProgressBoard board;
  int group = 0;

  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    board.share(MPI_COMM_WORLD, rank, size, "rank " + std::to_string(rank));
    std::vector<int> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    group = board.add_group("all ranks", all);
  }
  ~World() { MPI_Barrier(MPI_COMM_WORLD); }
};

TEST(ProgressBoard, ShowsWhatOtherRanksDo) {
  World world;
  ProgressBoard& board = world.board;
  const bool last = world.rank == world.size - 1;
  const auto first = board.start(world.group, CallKind::barrier, 0);
  board.finish(first);
  ProgressBoard::Message second = first;
  if (!last || world.size == 1) second = board.start(world.group, CallKind::all_reduce, 8);
  board.set_position(world.rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    board.begin_wait(second);
    const std::string text = board.report(1.0);
    EXPECT_THAT(text, HasSubstr("rank 0 has waited 1 s for all-reduce 2 of 8 bytes, all ranks"));
    EXPECT_THAT(text, HasSubstr(world.size > 2 ? "joined it: ranks 0" : "joined it: rank 0"));
    if (world.size > 1) {
      EXPECT_THAT(text, HasSubstr("did not join: rank " + std::to_string(world.size - 1)));
    }
    board.end_wait();
  }
  EXPECT_EQ(board.report(1.0), "") << "it waits for nothing";
}

TEST(ProgressBoard, OneRankOfANodeReports) {
  World world;
  int takes = world.board.take_report() ? 1 : 0;
  EXPECT_FALSE(world.board.take_report());
  int all = 0;
  MPI_Allreduce(&takes, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 1);
}

TEST(ProgressBoard, AllRanksOfANodeKnowHowLongAReportIsPostponed) {
  World world;
  EXPECT_EQ(world.board.postponed_for(), 0.0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == world.size - 1) world.board.postpone(1000.0);
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(10'000);
  EXPECT_LT(world.board.postponed_for(), 1000.0) << "it is the time that is left";
  EXPECT_GT(world.board.postponed_for(), 500.0);
}

TEST(ProgressBoard, AWaitUnderWayGoesOnWhenItIsShared) {
  ProgressBoard board;
  board.begins();
  board.share(MPI_COMM_WORLD, 0, 1, "a rank");
  EXPECT_EQ(board.waits() % 2, 1U);
  board.ends();
  EXPECT_EQ(board.waits() % 2, 0U);
  MPI_Barrier(MPI_COMM_WORLD);
}

// NCCL groups are made within a meeting of all ranks, and send messages for it.
TEST(ProgressBoard, AWaitWithinAnotherIsSeen) {
  World world;
  ProgressBoard& board = world.board;
  board.begins();
  const std::uint32_t outer = board.waits();
  EXPECT_THAT(board.report(1.0), HasSubstr("outside of training"));
  {
    const BoardWait inner(&board, board.start(world.group, CallKind::broadcast, 8));
    EXPECT_EQ(board.waits() % 2, 1U);
    EXPECT_NE(board.waits(), outer) << "the watchdog counts each for itself";
    EXPECT_THAT(board.report(1.0), HasSubstr("broadcast 1 of 8 bytes, all ranks"));
  }
  EXPECT_EQ(board.waits() % 2, 1U) << "the outer one goes on";
  EXPECT_THAT(board.report(1.0), HasSubstr("outside of training"));
  board.ends();
  EXPECT_EQ(board.waits() % 2, 0U);
  EXPECT_EQ(board.report(1.0), "");
}

// A file of another triax, or of no triax, may have the right length.
TEST(ProgressBoard, ReadsNoFurtherThanItsGroups) {
  World world;
  const std::size_t slot = 1 + sizeof(ProgressSlot);
  for (const char byte : {'\x7f', '\xff', '\x01'}) {
    const auto ranks = ProgressBoard::read_image(std::string(2 * slot, byte));
    ASSERT_EQ(ranks.size(), 2U);
    EXPECT_LE(ranks[1].collectives.size(), ProgressSlot::most_groups * GroupSlot::recent);
    EXPECT_EQ(ranks[0].place.size(), sizeof(ProgressSlot::place));
  }
}

TEST(ProcessName, TellsRunningStoppedAndGone) {
  EXPECT_EQ(state_of(this_process()), ProcessState::running);
  ProcessName other = this_process();
  ++other.born;
  EXPECT_EQ(state_of(other), ProcessState::gone) << "another process has its number";
}

// Long work and short waits do not trigger the watchdog; it would end the test with status 3.
TEST(Watchdog, LeavesWorkAndShortWaitsAlone) {
  ProgressBoard board;
  const Watchdog watchdog(board, 2.0);  // a busy machine ends a short wait within that
  usleep(2'500'000);
  for (int wait = 0; wait < 10; ++wait) {
    board.begins();
    usleep(50'000);
    board.ends();
  }
  EXPECT_TRUE(board.take_report()) << "no report is under way";
}

// The wait exceeds the limit, but not the limit for file work.
TEST(Watchdog, WaitsForFileWorkOfOthers) {
  World world;
  const Watchdog watchdog(world.board, 1.0);
  if (world.rank == world.size - 1) {
    const FileScope writing(&world.board);
    usleep(3'000'000);
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  const WaitScope waiting(&world.board);
  const double begin = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_GT(MPI_Wtime() - begin, 1.5) << "the wait was no longer than the limit";
}

}  // namespace
}  // namespace triax

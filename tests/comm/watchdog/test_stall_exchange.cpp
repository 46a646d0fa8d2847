// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/stall_exchange.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>

// Replacement of the C library's mkdir: a file system that hangs while a file PATH.hold exists.
extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  const std::string hold = std::string(path) + ".hold";
  while (access(hold.c_str(), F_OK) == 0) usleep(10'000);
  return mkdirat(AT_FDCWD, path, mode);
}

namespace triax {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two nodes: the first and the second half of the ranks.
struct TwoNodes {
  int rank = 0, size = 1;
  ProgressBoard board;
  int group = 0;
  std::string directory;
  std::optional<StallExchange> exchange;

  // `seconds` is run.collective_timeout; answers are awaited for a quarter of it.
  explicit TwoNodes(double seconds, const std::string& below = "/stall") {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, first_node() ? 0 : 1, rank, &node);
    board.share(node, rank, size, "rank " + std::to_string(rank));
    MPI_Comm_free(&node);
    std::vector<int> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    group = board.add_group("all ranks", all);
    std::array<char, 64> name{"/tmp/triax-stall-XXXXXX"};
    if (rank == 0) {
      EXPECT_NE(mkdtemp(name.data()), nullptr);
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    directory = name.data();
    if (first_node() || seconds > 1.0) exchange.emplace(board, directory + below, seconds);
  }
  ~TwoNodes() {
    exchange.reset();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::filesystem::remove_all(directory);
  }
  bool first_node() const { return rank < (size + 1) / 2; }
  bool last() const { return rank == size - 1; }
};

TEST(StallExchange, TellsWhatRanksOfOtherNodesDo) {
  TwoNodes world(20.0);
  ProgressBoard& board = world.board;
  const auto operation = board.start(world.group, CallKind::all_reduce, 8);
  if (!world.last()) board.begin_wait(operation);
  board.set_position(world.rank);
  if (world.last()) board.finish(operation);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    const auto answers = world.exchange->ask();
    EXPECT_TRUE(answers.first);
    EXPECT_TRUE(board.has_all(answers.ranks));
    ASSERT_EQ(std::ssize(answers.ranks), world.size / 2);
    EXPECT_EQ(answers.ranks.back().rank, world.size - 1);
    EXPECT_EQ(answers.ranks.back().position, world.size - 1);
    EXPECT_EQ(answers.ranks.back().process, ProcessState::running);
    const std::string text = board.report(1.0, answers.ranks);
    EXPECT_THAT(text, HasSubstr("finished it: rank " + std::to_string(world.size - 1)));
    EXPECT_THAT(text, HasSubstr("look first at: rank " + std::to_string(world.size - 1) + " (bu"));
    EXPECT_THAT(text, Not(HasSubstr("not heard of")));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.last()) {
    EXPECT_FALSE(world.exchange->ask().first) << "rank 0 has asked";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) world.exchange->take_back();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.last()) {
    const auto answers = world.exchange->ask(true);
    EXPECT_TRUE(answers.taken_back) << "rank 0 found nothing to end the job for";
    EXPECT_THAT(answers.ranks, IsEmpty());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.last()) {
    EXPECT_TRUE(world.exchange->ask().first);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!world.last()) board.end_wait();
}

TEST(StallExchange, ANodeThatDoesNotAnswerIsNamed) {
  TwoNodes world(1.0);
  const auto operation = world.board.start(world.group, CallKind::all_reduce, 8);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    world.board.begin_wait(operation);
    const auto answers = world.exchange->ask();
    EXPECT_THAT(answers.ranks, IsEmpty());
    const std::string last = std::to_string(world.size - 1);
    const std::string silent = world.size == 2 ? "rank " + last : "ranks 2-" + last;
    const std::string busy = world.size == 2 ? "" : "rank 1 (busy); not heard of: ";
    EXPECT_THAT(world.board.report(1.0, answers.ranks),
                HasSubstr("not heard of: " + silent + "\n  look first at: " + busy + silent));
    world.board.end_wait();
  }
}

// A rank that asked and died leaves the directory behind.
TEST(StallExchange, NodesTellAgainWhileTheDirectoryIsThere) {
  TwoNodes world(20.0);
  world.board.set_position(100);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_EQ(world.exchange->ask().ranks.back().position, 100);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  world.board.set_position(200);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    const auto answers = world.exchange->ask(true);
    EXPECT_FALSE(answers.first);
    EXPECT_EQ(answers.problem, "");
    ASSERT_TRUE(world.board.has_all(answers.ranks));
    EXPECT_EQ(answers.ranks.back().position, 200);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(StallExchange, WhatANodeWroteBeforeItWasLostDoesNotCount) {
  TwoNodes world(1.0);
  if (world.last()) {
    std::filesystem::create_directory(world.directory + "/stall");
    std::ofstream(
        world.directory + "/stall/node-" + std::to_string(world.board.first_rank_of_node()),
        std::ios::binary)
        << world.board.node_image();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) {
    EXPECT_THAT(world.exchange->ask(true).ranks, IsEmpty());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(StallExchange, SaysWhyNodesCannotTell) {
  TwoNodes no_place(1.0, "/missing/stall");
  if (no_place.rank == 0) {
    const auto answers = no_place.exchange->ask();
    EXPECT_TRUE(answers.first) << "each node says what it knows";
    EXPECT_THAT(answers.problem, HasSubstr("cannot make " + no_place.directory + "/missing/stall"));
    EXPECT_THAT(answers.problem, HasSubstr("No such file"));
  }
  TwoNodes no_directory(1.0);
  if (no_directory.rank == 0) {
    std::ofstream(no_directory.directory + "/stall") << "a file";
    const auto answers = no_directory.exchange->ask();
    EXPECT_FALSE(answers.first);
    EXPECT_THAT(answers.problem, HasSubstr("cannot write"));
    EXPECT_THAT(answers.problem, HasSubstr("Not a directory"));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(StallExchange, AHangThatHealsLeavesNothing) {
  TwoNodes world(1.0);
  if (world.rank == 0) {
    const std::string hold = world.directory + "/stall.hold";
    std::ofstream(hold) << "held";
    EXPECT_TRUE(world.exchange->ask().hangs);
    world.exchange->take_back();
    std::filesystem::remove(hold);
    world.exchange.reset();  // waits for its thread
    EXPECT_TRUE(std::filesystem::is_empty(world.directory))
        << "the next one to ask would take the directory for another rank's";
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(StallExchange, WhatIsNotWrittenByATriaxIsNotRead) {
  EXPECT_THAT(ProgressBoard::read_image("torn"), IsEmpty());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax

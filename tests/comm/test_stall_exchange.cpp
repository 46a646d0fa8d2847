#include "src/comm/stall_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>

namespace triax {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two nodes, of the first and the second half of the ranks.
struct TwoNodes {
  int rank = 0, size = 1;
  ProgressBoard board;
  int group = 0;
  std::string directory;
  std::optional<StallExchange> exchange;

  // `seconds` as run.collective_timeout: answers are waited for a quarter as long.
  explicit TwoNodes(double seconds) {
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
    if (first_node() || seconds > 1.0) exchange.emplace(board, directory + "/stall", seconds);
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
    EXPECT_THAT(text, HasSubstr("look first at: rank " + std::to_string(world.size - 1)));
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
    const std::string silent = world.size == 2 ? "rank " + last : "ranks 2, " + last;
    EXPECT_THAT(world.board.report(1.0, answers.ranks),
                HasSubstr("not heard of: " + silent + "\n  look first at: " + silent));
    world.board.end_wait();
  }
}

TEST(StallExchange, WhatIsNotWrittenByATriaxIsNotRead) {
  EXPECT_THAT(ProgressBoard::read_image("torn"), IsEmpty());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax

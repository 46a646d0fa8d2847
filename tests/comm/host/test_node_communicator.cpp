// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/node_communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "tests/comm/node_groups.hpp"

namespace triax {
namespace {

class Node : public testing::Test, public NodeWorld {
 protected:
  std::vector<float> sum_in_order(std::int64_t n) const {
    std::vector<float> sum = rough(n, 0);
    for (int r = 1; r < size; ++r) {
      const std::vector<float> term = rough(n, r);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
    return sum;
  }
};

TEST_F(Node, SumsAreThoseInTheOrderOfTheRanksBitForBit) {
  for (const std::int64_t part : {1, 1001, 100'007}) {
    const std::int64_t n = part * size;
    const std::vector<float> expected = sum_in_order(n);
    std::vector<float> data = rough(n, rank), input = data;
    std::vector<float> output(static_cast<std::size_t>(part));
    comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    comm.reduce_scatter(stream, view(output), view(input)).wait(stream);
    EXPECT_EQ(std::memcmp(data.data(), expected.data(), data.size() * sizeof(float)), 0) << part;
    EXPECT_EQ(
        std::memcmp(output.data(), expected.data() + rank * part, output.size() * sizeof(float)), 0)
        << part;
  }
}

TEST_F(Node, SmallMessagesOtherOperationsAndTypesGoByMpi) {
  constexpr std::int64_t n = 1000;
  comm.set_sizes(
      {.sums = {.from = 4 * n * static_cast<std::uint64_t>(size)}, .gathers = {.from = 4 * n}});
  const auto sent_by_mpi = [&](const auto& call) {
    const std::uint64_t before = group.mpi.traffic().messages;
    call();
    return group.mpi.traffic().messages - before;
  };
  std::vector<float> part(static_cast<std::size_t>(n)), data(part.size() * size_t(size));
  const auto reduce = [&](std::int64_t elements, ReduceOp op) {
    comm.all_reduce(stream, view(data).slice(0, 0, elements), op).wait(stream);
  };
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size - 1, ReduceOp::sum); }), 1U);
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size, ReduceOp::sum); }), 0U);
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size, ReduceOp::max); }), 1U);
  EXPECT_EQ(sent_by_mpi([&] { comm.reduce_scatter(stream, view(part), view(data)).wait(stream); }),
            0U);
  EXPECT_EQ(sent_by_mpi([&] { comm.all_gather(stream, view(data), view(part)).wait(stream); }), 0U);
  std::vector<double> wide(data.size());
  EXPECT_EQ(sent_by_mpi([&] { comm.all_reduce(stream, view(wide), ReduceOp::sum).wait(stream); }),
            1U);
}

TEST_F(Node, CountsTrafficAsTheRingDoes) {
  const auto n = static_cast<std::uint64_t>(size);
  std::vector<float> data(1000 * n), part(1000);
  const std::uint64_t bytes = 4000 * n;
  comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{1, 2 * (n - 1) * bytes / n}));
  comm.reduce_scatter(stream, view(part), view(data)).wait(stream);
  comm.all_gather(stream, view(data), view(part)).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{3, 4 * (n - 1) * bytes / n}));
  comm.broadcast(stream, view(data), 0).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{4, 5 * (n - 1) * bytes / n}));
}

// A message counts as under way from start to end; time in its calls counts as spent.
TEST_F(Node, TimesAreNoted) {
  MessageClock clock;
  NodeGroup timed(progress, 0, nullptr, 0, &clock);
  std::vector<float> data(300'000, 1.0F), small(10, 1.0F);
  Request large = timed.node.all_reduce(stream, view(data), ReduceOp::sum);
  const double started = clock.times().spent;
  EXPECT_GT(started, 0.0);
  EXPECT_EQ(clock.times().under_way, 0.0);
  usleep(2000);
  EXPECT_EQ(clock.times().spent, started);
  large.wait(stream);
  EXPECT_GE(clock.times().under_way, 0.002);
  EXPECT_GT(clock.times().spent, started);
  EXPECT_LT(clock.times().spent, clock.times().under_way);
  const MessageTimes before = clock.times();
  timed.node.broadcast(stream, view(small), 0).wait(stream);  // passed on to MPI: counted once
  EXPECT_GT(clock.times().under_way, before.under_way);
  EXPECT_GT(clock.times().spent, before.spent);
}

TEST_F(Node, RefusesPartsThatDoNotFit) {
  std::vector<float> whole(static_cast<std::size_t>(8 * size)), part(7);
  std::vector<double> other_type(8);
  EXPECT_THROW(comm.all_gather(stream, view(whole), view(part)), Error);
  EXPECT_THROW(comm.reduce_scatter(stream, view(part), view(whole)), Error);
  EXPECT_THROW(comm.all_gather(stream, view(whole), view(other_type)), Error);
  const Tensor shifted = view(whole).slice(0, 1, 8);
  EXPECT_THROW(comm.reduce_scatter(stream, shifted, view(whole)), Error);
  EXPECT_THROW(comm.all_gather_run(stream, view(whole), 5, 4), Error);
}

// The report names the missing rank and the message that waits for it.
TEST(NodeOnBoard, MessagesAreNoted) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ProgressBoard board;
  board.share(MPI_COMM_WORLD, rank, size, "rank " + std::to_string(rank));
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  const int number = board.add_group("data axis", all);
  MessageProgress progress;
  NodeGroup group(progress, 0, &board, number);
  std::vector<float> data(300'000, 1.0F);
  Request sum;
  if (rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    sum = group.node.all_reduce(stream, view(data), ReduceOp::sum);
  } else {
    sum = group.node.all_reduce(stream, view(data), ReduceOp::sum);
    EXPECT_FALSE(sum.test());
    const ProgressBoard::Message waited{number, 1, CallKind::all_reduce, 1'200'000};
    board.begin_wait(waited);
    const std::string report = board.report(1.0);
    EXPECT_THAT(report, testing::HasSubstr("all-reduce 1 of 1200000 bytes, data axis"));
    EXPECT_THAT(report, testing::HasSubstr("rank 0"));
    board.end_wait();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const std::uint32_t waits = board.waits();
  sum.wait(stream);
  EXPECT_EQ(board.waits(), waits + 2);  // a wait began and ended
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax

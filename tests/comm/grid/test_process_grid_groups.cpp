// SPDX-License-Identifier: Apache-2.0
// Groups of a ProcessGrid: their members, and which of them share memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <numeric>

#include "kernels/base/check.hpp"
#include "tests/comm/grid_world.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

TEST(ProcessGrid, JoinsFirstAndLastStageForTheEmbedding) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.pipeline = size}, one_node());
  const std::vector<int> group = members(grid.embedding(), grid.rank());
  const bool end = grid.rank() == 0 || grid.rank() == size - 1;
  if (end && size > 1)
    EXPECT_EQ(group, (std::vector<int>{0, size - 1}));
  else
    EXPECT_EQ(group, std::vector<int>{grid.rank()});
}

TEST(ProcessGrid, PartsTheTensorAxisIntoRuns) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.tensor = size}, one_node());
  EXPECT_THROW(grid.part(Axis::tensor, size + 1), Error);
  EXPECT_THROW(grid.part(Axis::tensor, 0), Error);
  for (int parts = 1; parts <= size; ++parts) {
    if (size % parts != 0) continue;
    Communicator& part = grid.part(Axis::tensor, parts);
    std::vector<int> run(static_cast<std::size_t>(size / parts));
    std::iota(run.begin(), run.end(), grid.rank() / (size / parts) * (size / parts));
    EXPECT_EQ(members(part, grid.rank()), run);
    EXPECT_EQ(&part, &grid.part(Axis::tensor, parts));
  }
}

TEST(ProcessGrid, GroupsAcrossRunsMeetEveryRunOnce) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, one_node());
  EXPECT_THROW(grid.across(Axis::data, size + 1), Error);
  for (int parts = 1; parts <= size; ++parts) {
    if (size % parts != 0) continue;
    std::vector<int> places;
    for (int r = grid.rank() % (size / parts); r < size; r += size / parts) places.push_back(r);
    EXPECT_EQ(members(grid.across(Axis::data, parts), grid.rank()), places);
  }
}

// Nodes of two consecutive ranks: ranges along the fastest axis lie within nodes, others do not.
TEST(ProcessGrid, FindsTheRunsWithinNodes) {
  const int size = world_size();
  std::vector<int> pairs;
  for (int r = 0; r < size; ++r) pairs.push_back(r / 2);
  ProcessGrid along(MPI_COMM_WORLD, {.data = size}, pairs);
  EXPECT_EQ(along.run_within_node(Axis::data), size % 2 == 0 ? 2 : 1);
  ProcessGrid whole(MPI_COMM_WORLD, {.data = size}, one_node());
  EXPECT_EQ(whole.run_within_node(Axis::data), size);
  if (size % 2 != 0) return;
  ProcessGrid behind(MPI_COMM_WORLD, {.data = size / 2, .tensor = 2}, pairs);
  EXPECT_EQ(behind.run_within_node(Axis::tensor), 2);
  EXPECT_EQ(behind.run_within_node(Axis::data), 1);
}

TEST(ProcessGrid, CountsTrafficByAxis) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.tensor = size}, one_node());
  std::vector<float> data(static_cast<std::size_t>(size) * 10);
  const Tensor tensor(data.data(), {size * 10});
  const auto bytes = static_cast<std::uint64_t>(tensor.bytes());
  grid.tensor().all_reduce(stream, tensor).wait(stream);
  Traffic expected = ring::all_reduce(size, bytes);
  EXPECT_EQ(grid.traffic(Axis::tensor), expected);
  if (size % 2 == 0) {
    grid.part(Axis::tensor, 2).all_reduce(stream, tensor).wait(stream);
    expected += ring::all_reduce(size / 2, bytes);
  }
  grid.world().all_reduce(stream, tensor).wait(stream);
  EXPECT_EQ(grid.traffic(Axis::tensor), expected);
  EXPECT_EQ(grid.traffic(Axis::data), Traffic{});
  EXPECT_EQ(grid.traffic(Axis::pipeline), Traffic{});
}

// A sum that is large enough for shared memory, along the data axis.
void expect_sum(ProcessGrid& grid) {
  std::vector<float> data(100'000, static_cast<float>(grid.rank() + 1));
  const Tensor tensor(data.data(), {std::ssize(data)});
  grid.data().all_reduce(stream, tensor).wait(stream);
  const int size = grid.size();
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size * (size + 1) / 2)));
  EXPECT_EQ(grid.traffic(Axis::data), ring::all_reduce(size, 400'000));
  if (size > 1) {
    EXPECT_GT(grid.message_times(Axis::data).under_way, 0.0);
    EXPECT_GT(grid.message_times(Axis::data).spent, 0.0);
  }
  EXPECT_EQ(grid.message_times(Axis::tensor).under_way, 0.0);
}

TEST(ProcessGrid, KnowsWhetherMessagesAreUnderWay) {
  ProcessGrid grid(MPI_COMM_WORLD, {.pipeline = world_size()}, one_node());
  EXPECT_FALSE(grid.has_messages());
  if (grid.size() == 1) return;
  std::vector<float> data(1000, static_cast<float>(grid.rank()));
  const Tensor tensor(data.data(), {std::ssize(data)});
  if (grid.rank() == 0) {
    Request request = grid.pipeline().receive(stream, tensor, 1, 7);
    EXPECT_TRUE(grid.has_messages());
    grid.world().barrier(stream).wait(stream);
    request.wait(stream);
    EXPECT_EQ(data.back(), 1.0F);
  } else {
    grid.world().barrier(stream).wait(stream);
    if (grid.rank() == 1) grid.pipeline().send(stream, tensor, 0, 7).wait(stream);
  }
  EXPECT_FALSE(grid.has_messages());
}

TEST(ProcessGrid, RanksOfANodeShareMemory) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, one_node());
  EXPECT_EQ(grid.not_shared(), "");
  for (const Axis axis : all_axes) EXPECT_EQ(grid.ranks_sharing(axis), grid.shape().size(axis));
  const std::vector<std::string> lines = grid.shared_messages();
  ASSERT_EQ(lines.size(), size > 1 ? 1U : 0U);
  if (size > 1) {
    EXPECT_EQ(lines[0],
              "messages of the data axis: sums from 64 KiB on and gathers from 64 KiB on go "
              "through memory that its " +
                  std::to_string(size) + " ranks share");
  }
  expect_sum(grid);
}

TEST(ProcessGrid, MessagesAreChosenOnceGroupsAreMade) {
  const int size = world_size();
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, one_node());
  if (size % 2 == 0) grid.across(Axis::data, 2);
  grid.choose_messages({});
  EXPECT_EQ(grid.shared_messages().size(), size == 1 ? 0U : size > 2 && size % 2 == 0 ? 2U : 1U);
  const Traffic before = grid.traffic(Axis::data);
  std::vector<float> data(100'000, 1.0F);
  const Tensor tensor(data.data(), {std::ssize(data)});
  grid.data().all_reduce(stream, tensor).wait(stream);
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size)));
  EXPECT_EQ(grid.traffic(Axis::data), before + ring::all_reduce(size, 400'000));
}

// Two nodes: the first and the second half of the ranks.
TEST(ProcessGrid, GroupsAcrossNodesShareMemoryInEach) {
  const int size = world_size();
  if (size % 4 != 0) GTEST_SKIP() << "needs two nodes of two ranks or more";
  std::vector<int> map(static_cast<std::size_t>(size), 0);
  std::fill(map.begin() + size / 2, map.end(), 1);
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, map);
  EXPECT_EQ(grid.ranks_sharing(Axis::data), size / 2);
  const std::vector<std::string> lines = grid.shared_messages();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("memory that " + std::to_string(size / 2) +
                                  " ranks of each node share, and by messages between nodes"));
  EXPECT_THAT(lines[0], HasSubstr("sums from 64 KiB on and gathers of no size"));
  expect_sum(grid);
}

TEST(ProcessGrid, RanksOfOtherNodesShareNothing) {
  const int size = world_size();
  if (size < 2) GTEST_SKIP() << "needs two nodes";
  std::vector<int> map(static_cast<std::size_t>(size));
  std::iota(map.begin(), map.end(), 0);
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, map);
  EXPECT_EQ(grid.ranks_sharing(Axis::data), 1);
  EXPECT_EQ(grid.not_shared(), "");
  EXPECT_TRUE(grid.shared_messages().empty());
  expect_sum(grid);
}

// Shared memory must be made after the ranks are bound: it lies near the core that makes it.
TEST(ProcessGrid, RanksSettleBeforeTheyShareMemory) {
  const int size = world_size();
  if (size == 1) GTEST_SKIP() << "nothing is shared";
  const auto shared = [] {  // number of shared mappings of this process
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) found += line.find("memfd:") != line.npos;
    return found;
  };
  int calls = 0, then = 0;
  const auto settle = [&](const CoreShare& share, MemorySpace space) {
    ++calls;
    then = shared();
    EXPECT_GE(share.cores, 1);
    EXPECT_EQ(space, MemorySpace::host);
  };
  const int before = shared();
  const ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, one_node(), 0.0, MemorySpace::host,
                         settle);
  EXPECT_EQ(calls, 1);
  EXPECT_LE(then, before + size) << "the progress board's";
  EXPECT_GT(shared(), then);
}

// A container may forbid processes to share memory: MPI then carries all messages.
TEST(ProcessGrid, WithoutSharedMemoryMpiHasAllMessages) {
  const int last = world_size() - 1;
  if (last == 0) GTEST_SKIP() << "nothing is shared";
  const auto body = [&] {
    ProcessGrid grid(MPI_COMM_WORLD, {.data = last + 1}, one_node());
    EXPECT_THAT(grid.not_shared(), HasSubstr("rank " + std::to_string(last)));
    EXPECT_EQ(grid.ranks_sharing(Axis::data), 1);
    grid.choose_messages({});
    EXPECT_TRUE(grid.shared_messages().empty());
    expect_sum(grid);
  };
  if (world_rank() == last)
    test::with_refused(SYS_memfd_create, {}, ENOSYS, body);
  else
    body();
}

// Values replicated over tensor ranks are summed by each of them in its own data group. Here those
// groups lie differently on the nodes, and must still sum in one order.
TEST(ProcessGrid, AllGroupsOfAnAxisSumInOneOrder) {
  const int size = world_size();
  if (size != 8) GTEST_SKIP() << "needs nodes of five and three ranks";
  ProcessGrid grid(MPI_COMM_WORLD, {.data = 4, .tensor = 2, .tensor_across_nodes = true},
                   {0, 0, 0, 0, 0, 1, 1, 1});
  std::vector<float> data(100'000);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] =
        std::pow(10.0F, static_cast<float>((i + static_cast<std::size_t>(grid.data_rank())) % 7)) /
        static_cast<float>(3 + grid.data_rank());
  const Tensor tensor(data.data(), {std::ssize(data)});
  grid.data().all_reduce(stream, tensor).wait(stream);
  std::vector<float> most = data;
  const Tensor largest(most.data(), {std::ssize(most)});
  grid.tensor().all_reduce(stream, largest, ReduceOp::max).wait(stream);
  EXPECT_EQ(most, data);
  EXPECT_EQ(grid.shared_messages().size(), 0U);
}

// If one rank cannot share memory, no group does.
TEST(ProcessGrid, SharedMemoryIsForAllGroupsOrNone) {
  const int size = world_size();
  if (size % 4 != 0) GTEST_SKIP() << "needs two groups of an axis";
  const int last = size - 1;
  const auto body = [&] {
    ProcessGrid grid(MPI_COMM_WORLD, {.data = size / 2, .tensor = 2}, one_node());
    EXPECT_THAT(grid.not_shared(), HasSubstr("tensor " + std::to_string(1)));
    grid.part(Axis::data, 2);
    grid.across(Axis::data, 2);
    EXPECT_TRUE(grid.shared_messages().empty());
  };
  if (world_rank() == last)
    test::with_refused(SYS_memfd_create, {}, ENOSYS, body);
  else
    body();
}

// Groups made later follow the agreement. One that cannot share memory is an error, since it would
// sum in another order than its like.
TEST(ProcessGrid, LaterGroupsShareMemoryOrFail) {
  const int size = world_size();
  if (size % 4 != 0) GTEST_SKIP() << "needs groups within an axis";
  ProcessGrid grid(MPI_COMM_WORLD, {.data = size}, one_node());
  const bool refused = grid.rank() == size - 1;
  const bool in_its_group = grid.rank() >= size / 2;
  const auto body = [&] {
    if (in_its_group)
      EXPECT_THROW(grid.part(Axis::data, 2), Error);
    else
      grid.part(Axis::data, 2);
  };
  if (refused)
    test::with_refused(SYS_memfd_create, {}, ENOSYS, body);
  else
    body();
}

}  // namespace
}  // namespace triax

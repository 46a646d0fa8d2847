// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/node_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "tests/comm/node_groups.hpp"

namespace triax {
namespace {

constexpr auto unlimited = NodeSizes::Range::unlimited;

TEST(NodeChoice, IsTheLongestRunOfSizesThatAreFaster) {
  const std::vector<std::uint64_t> sizes = {1, 10, 100, 1000};
  const auto range = [&](const std::vector<double>& node) {
    return faster_range(sizes, std::vector<double>(sizes.size(), 1.0), node);
  };
  EXPECT_EQ(range({0.5, 0.5, 0.5, 0.5}), (NodeSizes::Range{1, unlimited}));
  EXPECT_EQ(range({2.0, 0.5, 0.5, 0.5}), (NodeSizes::Range{10, unlimited}));
  EXPECT_EQ(range({0.5, 0.5, 0.5, 2.0}), (NodeSizes::Range{1, 1000}));
  EXPECT_EQ(range({2.0, 0.5, 0.5, 2.0}), (NodeSizes::Range{10, 1000}));
  EXPECT_EQ(range({0.5, 2.0, 0.5, 0.5}), (NodeSizes::Range{100, unlimited}));
  EXPECT_EQ(range({0.5, 0.5, 2.0, 0.5}), (NodeSizes::Range{1, 100}));
  EXPECT_EQ(range({0.5, 2.0, 0.5, 2.0}), (NodeSizes::Range{100, 1000})) << "the last of equal runs";
  EXPECT_EQ(range({1.0, 1.0, 1.0, 1.0}), NodeSizes::none);
  EXPECT_FALSE(NodeSizes::none.has(0));
  EXPECT_THROW(range({1.0}), Error);
  EXPECT_EQ(faster_range({}, {}, {}), NodeSizes::none);
}

struct World {
  MessageProgress progress;
  MpiCommunicator mpi = world_communicator();
  NodeCommunicator node{mpi, exchange_of(mpi.mpi()), WaitPolicy::yield, {.progress = &progress}};
};

// Trial memory: a little more than the largest size that is tried.
struct Lent {
  Buffer buffer{(std::size_t{16} << 20) + 4096};
  std::span<std::byte> memory{static_cast<std::byte*>(buffer.data()), buffer.bytes()};
};

TEST(NodeChoice, IsTheSameOnAllRanks) {
  World world;
  const Lent lent;
  choose_sizes(world.mpi, world.node, WaitPolicy::spin, lent.memory);
  const NodeSizes& found = world.node.sizes();
  std::vector<std::int64_t> values;
  for (const NodeSizes::Range& range : {found.sums, found.gathers})
    for (const std::uint64_t size : {range.from, range.to})
      values.push_back(static_cast<std::int64_t>(size / 2));
  std::vector<std::int64_t> least = values;
  world.mpi.all_reduce(stream, view(values), ReduceOp::max).wait(stream);
  world.mpi.all_reduce(stream, view(least), ReduceOp::min).wait(stream);
  EXPECT_EQ(values, least);
}

// Smaller sums are MPI's, in its own order, so nothing may be chosen there. Trial sizes are rounded
// up if ranks do not divide them.
TEST(NodeChoice, IsOfSumsThatBothWaysMakeInOneOrder) {
  World world;
  const Lent lent;
  const std::uint64_t least = direct::least_bytes(world.mpi.size());
  EXPECT_GE(world.node.sizes().sums.from, least);
  choose_sizes(world.mpi, world.node, WaitPolicy::spin, lent.memory);
  const NodeSizes::Range sums = world.node.sizes().sums;
  EXPECT_TRUE(sums == NodeSizes::none || sums.from >= least) << sums.from;
}

// No memory plan counts what the measured sums held, and no step makes some of them.
TEST(NodeChoice, LeavesNoMemoryTaken) {
  World world;
  const Lent lent;
  choose_sizes(world.mpi, world.node, WaitPolicy::spin, lent.memory);
  EXPECT_EQ(world.mpi.held_bytes(), 0U);
  std::vector<float> values(100'000, 1.0F);
  world.mpi.all_reduce(stream, view(values), ReduceOp::sum).wait(stream);
  EXPECT_EQ(values.back(), static_cast<float>(world.mpi.size())) << "the next sum takes its own";
}

TEST(NodeChoice, TriesNothingLargerThanAnyRanksMemory) {
  World world;
  const Lent lent;
  const bool last = world.mpi.rank() == world.mpi.size() - 1;
  std::ranges::fill(lent.memory, std::byte{7});
  const std::size_t most = 100 << 10;
  choose_sizes(world.mpi, world.node, WaitPolicy::spin,
               last ? lent.memory.first(most) : lent.memory);
  for (const NodeSizes::Range& range : {world.node.sizes().sums, world.node.sizes().gathers})
    EXPECT_TRUE(range.to == unlimited || range.to <= most);
  EXPECT_EQ(lent.memory.back(), std::byte{7});
  EXPECT_TRUE(!last || lent.memory[most] == std::byte{7});
}

const NodeSizes fixed{.sums = {12345, 99999}, .gathers = {54321, 77777}};

// Groups across nodes sum each node's ranks first, messages all ranks in one order: a measurement
// must not decide between the two.
TEST(NodeChoice, IsNotMeasuredWhereItWouldChangeSums) {
  MessageProgress progress;
  MpiCommunicator mpi = world_communicator();
  if (mpi.size() % 2 != 0 || mpi.size() == 2) GTEST_SKIP() << "of two nodes and more, of two each";
  NodeCommunicator node(mpi, exchange_of(mpi.mpi(), 2), WaitPolicy::yield, {.progress = &progress});
  EXPECT_EQ(node.sizes().gathers, NodeSizes::none);
  node.set_sizes(fixed);
  const Lent lent;
  choose_sizes(mpi, node, WaitPolicy::spin, lent.memory);
  EXPECT_EQ(node.sizes().sums, fixed.sums);
}

TEST(NodeChoice, IsNotMeasuredWhereRanksShareCores) {
  World world;
  const Lent lent;
  world.node.set_sizes(fixed);
  choose_sizes(world.mpi, world.node, WaitPolicy::yield, lent.memory);
  EXPECT_EQ(world.node.sizes(), fixed);
}

// Nodes may differ in ranks per core. A rank that measured alone would wait for ever.
TEST(NodeChoice, IsNotMeasuredWhereRanksOfOneNodeShareCores) {
  World world;
  const Lent lent;
  const bool last = world.mpi.rank() == world.mpi.size() - 1;
  world.node.set_sizes(fixed);
  choose_sizes(world.mpi, world.node, last ? WaitPolicy::yield : WaitPolicy::spin, lent.memory);
  EXPECT_EQ(world.node.sizes(), fixed);
}

// Bit patterns of all sorts: small and large numbers, infinities and NaNs.
template <class T>
std::vector<T> all_kinds(std::int64_t count, int rank) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits =
        static_cast<std::uint32_t>((i * 2654435761U) ^ (static_cast<std::uint32_t>(rank) * 40503U));
    const float small = sizeof(T) == 4 ? 1e-38F : 1e-16F, usual = sizeof(T) == 4 ? 1e-3F : 1e-6F;
    values[i] =
        T(static_cast<float>(static_cast<std::int32_t>(bits)) * (i % 3 == 0 ? small : usual));
    if (i % 1009 == 5 && i % 3 != static_cast<std::size_t>(rank))
      values[i] = T(std::numeric_limits<float>::infinity());
    if (i % 2003 == 7 && rank == 1) values[i] = T(std::numeric_limits<float>::quiet_NaN());
  }
  return values;
}

// Both ways give the same bits wherever they are measured: sums of one round and of many, in place
// and apart.
template <class T>
void expect_same_both_ways(World& world, std::int64_t count) {
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  };
  std::vector<T> a = all_kinds<T>(count, world.mpi.rank()), b = a;
  world.mpi.all_reduce(stream, view(a), ReduceOp::sum).wait(stream);
  world.node.all_reduce(stream, view(b), ReduceOp::sum).wait(stream);
  EXPECT_TRUE(same(a, b)) << count;
  const std::int64_t part = count / world.mpi.size(), all = part * world.mpi.size();
  a = b = all_kinds<T>(all, world.mpi.rank());
  std::vector<T> part_a(static_cast<std::size_t>(part)), part_b = part_a;
  world.mpi.reduce_scatter(stream, view(part_a), view(a)).wait(stream);
  world.node.reduce_scatter(stream, view(part_b), view(b)).wait(stream);
  EXPECT_TRUE(same(part_a, part_b)) << count;
  const Tensor own = view(b).slice(0, world.mpi.rank() * part, part);
  world.node.reduce_scatter(stream, own, view(b)).wait(stream);
  EXPECT_EQ(std::memcmp(own.data(), part_a.data(), part_a.size() * sizeof(T)), 0) << count;
}

TEST(NodeChoice, SumsAreTheSameBothWays) {
  World world;
  world.node.set_sizes({});
  for (const std::int64_t count : {4096, 50'001, 1'500'001}) {
    expect_same_both_ways<float>(world, count);
    expect_same_both_ways<Bf16>(world, count);
    expect_same_both_ways<F16>(world, count);
  }
}

}  // namespace
}  // namespace triax

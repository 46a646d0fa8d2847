#include "src/comm/node_choice.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "tests/comm/node_groups.hpp"

namespace triax {
namespace {

TEST(NodeChoice, IsTheSizeFromWhichOnAllAreFaster) {
  const std::vector<std::uint64_t> sizes = {1, 10, 100};
  const std::vector<double> mpi = {1.0, 1.0, 1.0};
  EXPECT_EQ(faster_from(sizes, mpi, {0.5, 0.5, 0.5}), 1U);
  EXPECT_EQ(faster_from(sizes, mpi, {2.0, 0.5, 0.5}), 10U);
  EXPECT_EQ(faster_from(sizes, mpi, {0.5, 2.0, 0.5}), 100U);
  EXPECT_EQ(faster_from(sizes, mpi, {0.5, 0.5, 2.0}), NodeThresholds::never);
  EXPECT_EQ(faster_from(sizes, mpi, mpi), NodeThresholds::never);
  EXPECT_THROW(faster_from(sizes, mpi, {1.0}), Error);
}

struct World {
  MessageProgress progress;
  MpiCommunicator mpi = world_communicator();
  NodeCommunicator node{mpi, exchange_of(mpi.mpi()), WaitPolicy::yield, {.progress = &progress}};
};

TEST(NodeChoice, IsTheSameOnAllRanksAndInEffect) {
  World world;
  const NodeThresholds fixed{.sums = 12345, .gathers = 54321};
  const NodeThresholds found = measured_thresholds(world.mpi, world.node, WaitPolicy::spin, fixed);
  EXPECT_EQ(world.node.thresholds(), found);
  std::vector<std::int64_t> values = {static_cast<std::int64_t>(found.sums / 2),
                                      static_cast<std::int64_t>(found.gathers / 2)};
  std::vector<std::int64_t> least = values;
  world.mpi.all_reduce(stream, view(values), ReduceOp::max).wait(stream);
  world.mpi.all_reduce(stream, view(least), ReduceOp::min).wait(stream);
  EXPECT_EQ(values, least);
}

// No plan of a run's memory has what the measured sums needed, and some of them no step makes.
TEST(NodeChoice, LeavesNoMemoryTaken) {
  World world;
  measured_thresholds(world.mpi, world.node, WaitPolicy::spin);
  EXPECT_EQ(world.mpi.held_bytes(), 0U);
  std::vector<float> values(100'000, 1.0F);
  world.mpi.all_reduce(stream, view(values), ReduceOp::sum).wait(stream);
  EXPECT_EQ(values.back(), static_cast<float>(world.mpi.size())) << "the next sum takes its own";
}

// Groups across nodes add up each node's ranks first, messages all in one order: what decides
// between the two must not be a measurement.
TEST(NodeChoice, IsNotMeasuredWhereItWouldChangeSums) {
  MessageProgress progress;
  MpiCommunicator mpi = world_communicator();
  if (mpi.size() % 2 != 0 || mpi.size() == 2) GTEST_SKIP() << "of two nodes and more, of two each";
  NodeCommunicator node(mpi, exchange_of(mpi.mpi(), 2), WaitPolicy::yield, {.progress = &progress});
  const NodeThresholds fixed{.sums = 12345, .gathers = 54321};
  EXPECT_EQ(measured_thresholds(mpi, node, WaitPolicy::spin, fixed).sums, fixed.sums);
}

TEST(NodeChoice, IsNotMeasuredWhereRanksShareCores) {
  World world;
  const NodeThresholds fixed{.sums = 12345, .gathers = 54321};
  EXPECT_EQ(measured_thresholds(world.mpi, world.node, WaitPolicy::yield, fixed), fixed);
  EXPECT_EQ(world.node.thresholds(), NodeThresholds{}) << "left as they were";
}

// Nodes may differ in ranks per core. A rank that measured alone would wait for ever.
TEST(NodeChoice, IsNotMeasuredWhereRanksOfOneNodeShareCores) {
  World world;
  const bool last = world.mpi.rank() == world.mpi.size() - 1;
  const NodeThresholds fixed{.sums = 12345, .gathers = 54321};
  const WaitPolicy own = last ? WaitPolicy::yield : WaitPolicy::spin;
  EXPECT_EQ(measured_thresholds(world.mpi, world.node, own, fixed), fixed);
  EXPECT_EQ(world.node.thresholds(), NodeThresholds{}) << "left as they were";
}

// The two ways give the same bits where the choice between them is measured.
TEST(NodeChoice, SumsAreTheSameBothWays) {
  World world;
  world.node.set_thresholds({.sums = 0, .gathers = 0});
  const auto expect_same = [&](auto type) {
    using T = decltype(type);
    std::vector<T> a(50'001), b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Bits of all kinds but infinities and those that are no numbers: small ones too.
      const auto bits = static_cast<std::uint32_t>((i * 2654435761U) ^ (world.mpi.rank() * 40503U));
      if constexpr (sizeof(T) == 4)
        a[i] = static_cast<float>(static_cast<std::int32_t>(bits)) * (i % 3 == 0 ? 1e-38F : 1e-3F);
      else
        a[i] =
            T(static_cast<float>(static_cast<std::int32_t>(bits)) * (i % 3 == 0 ? 1e-16F : 1e-6F));
    }
    b = a;
    world.mpi.all_reduce(stream, view(a), ReduceOp::sum).wait(stream);
    world.node.all_reduce(stream, view(b), ReduceOp::sum).wait(stream);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0);
  };
  expect_same(float{});
  expect_same(Bf16{});
  expect_same(F16{});
}

}  // namespace
}  // namespace triax

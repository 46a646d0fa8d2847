// SPDX-License-Identifier: Apache-2.0
#include "src/comm/interface/planned_messages.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/comm/rank_world.hpp"

namespace triax {
namespace {

constexpr std::int64_t elements = std::int64_t{24} << 17;  // 12 MiB; 24: for up to 4 and 8 ranks
constexpr std::uint64_t bytes = elements * sizeof(float);

std::int64_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

struct World {
  MpiCommunicator comm = world_communicator();
  std::vector<float> whole = std::vector<float>(elements, 1.0F);
  std::vector<float> part =
      std::vector<float>(static_cast<std::size_t>(elements / comm.size()), 1.0F);
};

// Compares the traffic of a call, and the memory malloc has handed out during it, with the plan.
void expect_as_planned(World& world, const Messages& planned, const auto& call) {
  const Traffic before = world.comm.traffic();
  call().wait(stream);  // the first call allocates the memory held for sums
  EXPECT_EQ(world.comm.traffic(), before + planned.total());
  const std::int64_t memory = allocated();
  Request request = call();
  [[maybe_unused]] const std::int64_t taken = allocated() - memory;
  request.wait(stream);
#if defined(MPICH) && !defined(__SANITIZE_ADDRESS__)     // ASan has its own malloc
  constexpr std::int64_t small = std::int64_t{1} << 20;  // schedules and requests
  EXPECT_GE(taken, static_cast<std::int64_t>(planned.scratch));
  EXPECT_LE(taken, static_cast<std::int64_t>(planned.scratch) + small);
#endif
  EXPECT_LE(allocated() - memory, std::int64_t{1} << 20) << "it is given back";
}

TEST(PlannedMessages, AreWhatACommunicatorCountsAndAllocates) {
  World world;
  const int n = world.comm.size();
  expect_as_planned(world, planned_all_reduce(n, bytes), [&] {
    return world.comm.all_reduce(stream, view(world.whole), ReduceOp::sum);
  });
  expect_as_planned(world, planned_reduce_scatter(n, bytes), [&] {
    return world.comm.reduce_scatter(stream, view(world.part), view(world.whole));
  });
  EXPECT_EQ(world.comm.held_bytes(), direct::held_bytes(n, planned_all_reduce(n, bytes).part));
  const Tensor small = view(world.whole).slice(0, 0, 4000);  // small enough for MPI_Iallreduce
  expect_as_planned(world, planned_all_reduce(n, 16'000),
                    [&] { return world.comm.all_reduce(stream, small, ReduceOp::sum); });
  expect_as_planned(world, planned_all_gather(n, bytes), [&] {
    return world.comm.all_gather(stream, view(world.whole), view(world.part));
  });
  const Tensor own = view(world.whole).slice(0, world.comm.rank() * elements / n, elements / n);
  expect_as_planned(world, planned_reduce_scatter(n, bytes),
                    [&] { return world.comm.reduce_scatter(stream, own, view(world.whole)); });
  expect_as_planned(world, planned_all_gather(n, bytes),
                    [&] { return world.comm.all_gather(stream, view(world.whole), own); });
  // The second third of each shard.
  const std::int64_t run = elements / n / 3;
  expect_as_planned(world, planned_all_gather(n, static_cast<std::uint64_t>(n * run) * 4),
                    [&] { return world.comm.all_gather_run(stream, view(world.whole), run, run); });
}

TEST(PlannedMessages, SendIsOneMessage) {
  EXPECT_EQ(planned_send(1000).total(), (Traffic{1, 1000}));
  EXPECT_EQ(planned_send(1000).scratch, 0U);
}

TEST(PlannedMessages, NothingToSendIsNoMessage) {
  EXPECT_EQ(planned_all_reduce(4, 0), Messages{});
  EXPECT_EQ(planned_all_gather(1, 1000), Messages{});
  EXPECT_EQ(planned_reduce_scatter(1, 1000), Messages{});
}

TEST(PlannedMessages, AddUpByKindAndTakeTheLargestMemory) {
  const Messages sum = 2 * (planned_all_reduce(2, 1000) + planned_reduce_scatter(4, 8000));
  EXPECT_EQ(sum.all_reduce, (Traffic{2, 2000}));
  EXPECT_EQ(sum.reduce_scatter, (Traffic{2, 12000}));
  EXPECT_EQ(sum.total(), (Traffic{4, 14000}));
  EXPECT_EQ(sum.scratch, 1000U);
  EXPECT_EQ(sum.part, 2000U);
  EXPECT_EQ(0 * sum, Messages{});
}

}  // namespace
}  // namespace triax

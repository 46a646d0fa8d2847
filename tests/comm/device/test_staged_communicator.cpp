// SPDX-License-Identifier: Apache-2.0
// Device messages staged through host memory, on the emulated device or on GPUs.
#include "src/comm/device/staged_communicator.hpp"

#include <gtest/gtest.h>

#include "tests/comm/device_ranks.hpp"

namespace triax {
namespace {

class Staged : public DeviceRanks {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
    queue_ = Stream(MemorySpace::device);
  }
  MpiCommunicator mpi_ = world_communicator();
  StagingMemory memory_;
  StagedCommunicator comm_{mpi_, mpi_, memory_};
};

TEST_F(Staged, AllReduceSums) {
  for (const std::int64_t n : lengths_) {
    const Values data(queue_, numbers(n));
    comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
    EXPECT_EQ(data.seen(queue_), sums(n));
  }
}

TEST_F(Staged, ReduceScatterGivesEachRankItsPartAlsoInPlace) {
  expect_reduce_scatter(comm_);
}

TEST_F(Staged, AllGatherPutsPartsInOrder) {
  expect_all_gather(comm_);
}

TEST_F(Staged, ARunOfEachPartIsGatheredAndNothingElseTouched) {
  expect_all_gather_run(comm_);
}

TEST_F(Staged, BroadcastGivesAllTheRootsData) {
  expect_broadcast(comm_);
}

TEST_F(Staged, MessagesToNeighboursArriveByTheirTags) {
  if (size_ == 1) return;
  expect_messages_by_tags(comm_);
}

// A message started on one stream may be waited for on another.
TEST_F(Staged, StreamsOrderWhatIsUnderWay) {
  if (size_ == 1) return;
  const Stream other(MemorySpace::device);
  const Values first(queue_, numbers(1000)), second(queue_, numbers(2000));
  Request one = comm_.all_reduce(queue_, first.tensor(), ReduceOp::sum);
  Request two = comm_.all_reduce(queue_, second.tensor(), ReduceOp::sum);
  EXPECT_FALSE(one.test()) << "only who waits with a stream has it";
  one.wait(other);
  two.wait(queue_);
  EXPECT_EQ(first.seen(other), sums(1000));
  EXPECT_EQ(second.seen(queue_), sums(2000));
}

TEST_F(Staged, MemoryIsTakenOnce) {
  const Values data(queue_, numbers(1000));
  for (int time = 0; time < 3; ++time)
    comm_.all_reduce(queue_, data.tensor(), ReduceOp::max).wait(queue_);
  EXPECT_EQ(memory_.bytes(), size_ == 1 ? 0 : 4000);
}

TEST_F(Staged, HostMemoryTakesMpi) {
  std::vector<float> data = numbers(1000);
  comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  EXPECT_EQ(data, sums(1000));
  EXPECT_EQ(memory_.bytes(), 0);
}

TEST(StagingMemory, TheLeastPieceThatFitsIsTakenAgain) {
  StagingMemory memory(true);
  const int large = memory.take(1000);
  const int small = memory.take(10);
  EXPECT_EQ(memory.bytes(), 1010);
  memory.release(large);
  memory.release(small);
  EXPECT_EQ(memory.take(10), small);
  EXPECT_EQ(memory.take(10), large);
  memory.release(large);
  EXPECT_EQ(memory.take(2000), large) << "the largest free one grows";
  EXPECT_EQ(memory.bytes(), 2010);
}

}  // namespace
}  // namespace triax

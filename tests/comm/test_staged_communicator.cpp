// Messages of a device's memory through the host's, on the emulated device or on GPUs.
#include "src/comm/staged_communicator.hpp"

#include <gtest/gtest.h>

#include "tests/comm/device_values.hpp"
#include "tests/comm/rank_world.hpp"

namespace triax {
namespace {

class Staged : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "skipped: no CUDA device";
    queue_ = Stream(MemorySpace::device);
  }
  std::vector<float> numbers(std::int64_t n) const {
    return filled<float>(n, [this](std::int64_t i) { return number<float>(rank_, i); });
  }
  std::vector<float> sums(std::int64_t n, std::int64_t first = 0) const {
    return filled<float>(n,
                         [&](std::int64_t i) { return sum_of_numbers<float>(size_, first + i); });
  }

  MpiCommunicator mpi_ = world_communicator();
  StagingMemory memory_;
  StagedCommunicator comm_{mpi_, mpi_, memory_};
  int rank_ = comm_.rank(), size_ = comm_.size();
  Stream queue_;
  const std::vector<std::int64_t> lengths_ = {1, 17, 1000, 100'003};
};

TEST_F(Staged, AllReduceSums) {
  for (const std::int64_t n : lengths_) {
    const Values data(queue_, numbers(n));
    comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
    EXPECT_EQ(data.seen(queue_), sums(n));
  }
}

TEST_F(Staged, ReduceScatterGivesEachRankItsPartAlsoInPlace) {
  for (const std::int64_t n : lengths_) {
    const std::vector<float> before = numbers(n * size_);
    const Values input(queue_, before),
        output(queue_, std::vector<float>(before.size() / static_cast<std::size_t>(size_)));
    comm_.reduce_scatter(queue_, output.tensor(), input.tensor()).wait(queue_);
    EXPECT_EQ(output.seen(queue_), sums(n, rank_ * n));
    EXPECT_EQ(input.seen(queue_), before);
    const Tensor part = input.tensor().slice(0, rank_ * n, n);
    comm_.reduce_scatter(queue_, part, input.tensor()).wait(queue_);
    const std::vector<float> after = input.seen(queue_);
    EXPECT_EQ(std::vector<float>(after.begin() + rank_ * n, after.begin() + (rank_ + 1) * n),
              sums(n, rank_ * n));
  }
}

TEST_F(Staged, AllGatherPutsPartsInOrder) {
  for (const std::int64_t n : lengths_) {
    const auto all = filled<float>(
        n * size_, [n](auto i) { return number<float>(static_cast<int>(i / n), i % n); });
    const Values input(queue_, numbers(n)), output(queue_, std::vector<float>(all.size()));
    comm_.all_gather(queue_, output.tensor(), input.tensor()).wait(queue_);
    EXPECT_EQ(output.seen(queue_), all);
    std::vector<float> own(all.size());
    std::copy_n(all.begin() + rank_ * n, n, own.begin() + rank_ * n);
    const Values whole(queue_, own);
    comm_.all_gather(queue_, whole.tensor(), whole.tensor().slice(0, rank_ * n, n)).wait(queue_);
    EXPECT_EQ(whole.seen(queue_), all);
  }
}

TEST_F(Staged, ARunOfEachPartIsGatheredAndNothingElseTouched) {
  constexpr std::int64_t n = 10, begin = 3, count = 4;
  std::vector<float> expected(static_cast<std::size_t>(n * size_), -1.0F);
  std::vector<float> own = expected;
  for (std::int64_t i = 0; i < n * size_; ++i)
    if (i % n >= begin && i % n < begin + count)
      expected[static_cast<std::size_t>(i)] = static_cast<float>(i);
  std::copy_n(expected.begin() + rank_ * n, n, own.begin() + rank_ * n);
  const Values whole(queue_, own);
  comm_.all_gather_run(queue_, whole.tensor(), begin, count).wait(queue_);
  EXPECT_EQ(whole.seen(queue_), expected);
}

TEST_F(Staged, BroadcastGivesAllTheRootsData) {
  const int root = size_ - 1;
  const Values data(queue_, numbers(99));
  comm_.broadcast(queue_, data.tensor(), root).wait(queue_);
  EXPECT_EQ(data.seen(queue_), filled<float>(99, [&](auto i) { return number<float>(root, i); }));
}

TEST_F(Staged, MessagesToNeighboursArriveByTheirTags) {
  if (size_ == 1) return;
  const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
  const Values one(queue_, numbers(50)), two(queue_, std::vector<float>(50, 7.0F));
  const Values first(queue_, std::vector<float>(50)), second(queue_, std::vector<float>(50));
  Request from_two = comm_.receive(queue_, second.tensor(), last, 2);
  Request from_one = comm_.receive(queue_, first.tensor(), last, 1);
  Request to_one = comm_.send(queue_, one.tensor(), next, 1);
  Request to_two = comm_.send(queue_, two.tensor(), next, 2);
  for (Request* request : {&from_one, &from_two, &to_one, &to_two}) request->wait(queue_);
  EXPECT_EQ(first.seen(queue_), filled<float>(50, [&](auto i) { return number<float>(last, i); }));
  EXPECT_EQ(second.seen(queue_), std::vector<float>(50, 7.0F));
}

// What is begun on one stream may be waited for by another.
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

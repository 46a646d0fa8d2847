// SPDX-License-Identifier: Apache-2.0
// mpi_communicator: the bits of sums, requests under way, what is refused, and traffic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/comm/rank_world.hpp"

namespace triax {
namespace {

class World : public testing::Test {
 protected:
  MpiCommunicator comm_ = world_communicator();
  int rank_ = comm_.rank();
  int size_ = comm_.size();

  // Values of different magnitude and sign on each rank; their sum depends on the order.
  std::vector<float> rough(std::int64_t n) const {
    return filled<float>(n, [this](std::int64_t i) {
      const double x = std::sin(static_cast<double>(i * 8 + rank_ + 1) * 12.9898);
      return static_cast<float>(x * std::pow(10.0, static_cast<double>((i + rank_) % 7)));
    });
  }
};

TEST_F(World, AllReduceGivesTheSameBitsToEveryRank) {
  for (const std::int64_t n : {3, 1001, 300'007}) {
    std::vector<float> sum = rough(n);
    comm_.all_reduce(stream, view(sum), ReduceOp::sum).wait(stream);
    const Tensor bits(static_cast<void*>(sum.data()), DType::i32, {n});
    std::vector<std::int32_t> largest(bits.as<std::int32_t>(), bits.as<std::int32_t>() + n);
    std::vector<std::int32_t> smallest = largest;
    comm_.all_reduce(stream, view(largest), ReduceOp::max).wait(stream);
    comm_.all_reduce(stream, view(smallest), ReduceOp::min).wait(stream);
    EXPECT_EQ(largest, smallest) << n;
  }
}

TEST_F(World, ReductionsRepeatThemselvesBitForBit) {
  constexpr std::int64_t n = 100'003;
  std::vector<float> first_sum;
  std::vector<float> first_part;
  for (int run = 0; run < 3; ++run) {
    std::vector<float> sum = rough(n);
    comm_.all_reduce(stream, view(sum), ReduceOp::sum).wait(stream);
    std::vector<float> input = rough(n * size_);
    std::vector<float> part(static_cast<std::size_t>(n));
    comm_.reduce_scatter(stream, view(part), view(input)).wait(stream);
    if (run == 0) {
      first_sum = sum;
      first_part = part;
    }
    EXPECT_EQ(std::memcmp(sum.data(), first_sum.data(), sum.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(part.data(), first_part.data(), part.size() * sizeof(float)), 0);
  }
}

TEST_F(World, ManyRequestsCompleteInAnyOrder) {
  constexpr int count = 12;
  std::vector<std::vector<float>> data;
  std::vector<Request> requests;
  data.reserve(count);
  for (int k = 0; k < count; ++k) {
    data.push_back(
        filled<float>(k * 1000 + 1, [&](auto i) { return number<float>(rank_, i + k); }));
    requests.push_back(comm_.all_reduce(stream, view(data.back()), ReduceOp::sum));
  }
  // Each rank waits in a different order.
  for (int k = 0; k < count; ++k) {
    const auto which = static_cast<std::size_t>((k * 5 + rank_) % count);
    requests[which].wait(stream);
    EXPECT_FALSE(requests[which].pending());
  }
  for (int k = 0; k < count; ++k)
    EXPECT_EQ(data[static_cast<std::size_t>(k)], filled<float>(k * 1000 + 1, [&](auto i) {
                return sum_of_numbers<float>(size_, i + k);
              }));
}

TEST_F(World, TestDrivesARequestToItsEnd) {
  std::vector<float> data(50'000, 1.0F);
  std::vector<float> parts(static_cast<std::size_t>(1000 * size_), 1.0F);
  const Tensor part = view(parts).slice(0, rank_ * 1000, 1000);
  Request sum = comm_.all_reduce(stream, view(data), ReduceOp::sum);
  Request scattered = comm_.reduce_scatter(stream, part, view(parts));
  while (!sum.test() || !scattered.test()) {
  }
  EXPECT_FALSE(sum.pending());
  EXPECT_TRUE(sum.test());
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size_)));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(part.as<float>()[i], static_cast<float>(size_));
}

// Rank 0 joins only after every other rank has reported that the barrier still holds it.
TEST_F(World, BarrierHoldsUntilAllHaveCome) {
  std::int32_t token = 0;
  const Tensor message(&token, {1});
  if (rank_ == 0) {
    for (int other = 1; other < size_; ++other)
      comm_.receive(stream, message, other, 0).wait(stream);
    comm_.barrier(stream).wait(stream);
    return;
  }
  Request barrier = comm_.barrier(stream);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(barrier.test());
  comm_.send(stream, message, 0, 0).wait(stream);
  barrier.wait(stream);
  EXPECT_EQ(comm_.traffic().messages, 1U);  // the send; a barrier is none
}

// Sums of small whole numbers are exact in bf16 and f16, and a sum is rounded to nearest even.
TEST_F(World, SixteenBitFloatsAreSummed) {
  const auto sums_are_exact = [&](auto type) {
    using T = decltype(type);
    std::vector<T> data(1000), parts(static_cast<std::size_t>(100 * size_)), part(100);
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<float>(number<int>(rank_, static_cast<std::int64_t>(i)));
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = static_cast<float>(number<int>(rank_, static_cast<std::int64_t>(i)));
    comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    comm_.reduce_scatter(stream, view(part), view(parts)).wait(stream);
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(static_cast<float>(data[static_cast<std::size_t>(i)]),
                static_cast<float>(sum_of_numbers<int>(size_, i)));
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(static_cast<float>(part[static_cast<std::size_t>(i)]),
                static_cast<float>(sum_of_numbers<int>(size_, 100 * rank_ + i)));
  };
  sums_are_exact(Bf16{});
  sums_are_exact(F16{});
  std::vector<Bf16> rounded = {Bf16(rank_ == 0 ? 256.0F : rank_ == 1 ? 1.0F : 0.0F)};
  comm_.all_reduce(stream, view(rounded), ReduceOp::sum).wait(stream);
  EXPECT_EQ(static_cast<float>(rounded[0]), 256.0F);  // 257 lies between 256 and 258
  EXPECT_THROW(comm_.all_reduce(stream, view(rounded), ReduceOp::max), Error);
}

TEST_F(World, WordsMoveAndDoNotReduce) {
  std::vector<std::uint16_t> data = {1, 2, static_cast<std::uint16_t>(rank_)};
  std::vector<std::uint16_t> all(static_cast<std::size_t>(3 * size_));
  EXPECT_THROW(comm_.all_reduce(stream, view(data), ReduceOp::sum), Error);
  EXPECT_THROW(comm_.reduce_scatter(stream, view(data), view(all)), Error);
  comm_.all_gather(stream, view(all), view(data)).wait(stream);
  for (int r = 0; r < size_; ++r) EXPECT_EQ(all[static_cast<std::size_t>(3 * r + 2)], r);
}

TEST_F(World, RefusesPartsThatDoNotFit) {
  std::vector<float> whole(static_cast<std::size_t>(8 * size_));
  std::vector<float> part(7);
  std::vector<double> other_type(8);
  EXPECT_THROW(comm_.all_gather(stream, view(whole), view(part)), Error);
  EXPECT_THROW(comm_.reduce_scatter(stream, view(part), view(whole)), Error);
  EXPECT_THROW(comm_.all_gather(stream, view(whole), view(other_type)), Error);
  if (size_ > 1) {
    const Tensor shifted = view(whole).slice(0, 1, 8);
    EXPECT_THROW(comm_.reduce_scatter(stream, shifted, view(whole)), Error);
  }
  EXPECT_THROW(comm_.broadcast(stream, view(whole), size_), Error);
}

TEST_F(World, CountsTrafficAsTheRingDoes) {
  const auto n = static_cast<std::uint64_t>(size_);
  std::vector<float> data(1000 * n);
  std::vector<float> part(1000);
  const std::uint64_t bytes = 4000 * n;
  comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  const std::uint64_t messages = size_ > 1 ? 1 : 0;
  EXPECT_EQ(comm_.traffic(), (Traffic{messages, 2 * (n - 1) * bytes / n}));
  comm_.reduce_scatter(stream, view(part), view(data)).wait(stream);
  comm_.all_gather(stream, view(data), view(part)).wait(stream);
  comm_.broadcast(stream, view(data), 0).wait(stream);
  EXPECT_EQ(comm_.traffic(), (Traffic{4 * messages, 5 * (n - 1) * bytes / n}));
}

TEST(AloneCommunicator, CopiesAndDoesNothingElse) {
  MpiCommunicator comm(MPI_COMM_NULL, WaitPolicy::spin, "alone");
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
  std::vector<float> input = {1.0F, 2.0F};
  std::vector<float> output(2);
  EXPECT_FALSE(comm.all_gather(stream, view(output), view(input)).pending());
  EXPECT_EQ(output, input);
  input = {3.0F, 4.0F};
  EXPECT_FALSE(comm.reduce_scatter(stream, view(output), view(input)).pending());
  EXPECT_EQ(output, input);
  EXPECT_FALSE(comm.all_reduce(stream, view(output), ReduceOp::sum).pending());
  EXPECT_FALSE(comm.broadcast(stream, view(output), 0).pending());
  comm.barrier(stream).wait(stream);
  EXPECT_EQ(output, input);
  EXPECT_EQ(comm.traffic(), Traffic{});
  EXPECT_THROW(comm.send(stream, view(input), 0, 0), Error);
}

}  // namespace
}  // namespace triax

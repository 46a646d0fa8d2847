// SPDX-License-Identifier: Apache-2.0
// mpi_communicator: each collective against computed values, in every type.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/comm/rank_world.hpp"

namespace triax {
namespace {

template <class T>
class Collectives : public testing::Test {
 protected:
  MpiCommunicator comm_ = world_communicator();
  int rank_ = comm_.rank();
  int size_ = comm_.size();
  // Elements per shard: none, one, odd, and enough for MPI's long-message algorithms.
  const std::vector<std::int64_t> sizes_ = {0, 1, 17, 1000, 100'003};

  // n elements; element i of this rank is number(rank, i).
  std::vector<T> numbers(std::int64_t n) const {
    return filled<T>(n, [this](std::int64_t i) { return number<T>(rank_, i); });
  }
};

using Types = testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(Collectives, Types);

TYPED_TEST(Collectives, AllReduceSums) {
  for (const std::int64_t n : this->sizes_) {
    std::vector<TypeParam> data = this->numbers(n);
    this->comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    EXPECT_EQ(data, filled<TypeParam>(n, [this](std::int64_t i) {
                return sum_of_numbers<TypeParam>(this->size_, i);
              }));
  }
}

TYPED_TEST(Collectives, AllReduceTakesTheLargestAndTheSmallest) {
  for (const std::int64_t n : this->sizes_) {
    std::vector<TypeParam> largest = this->numbers(n);
    std::vector<TypeParam> smallest = largest;
    Request first = this->comm_.all_reduce(stream, view(largest), ReduceOp::max);
    Request second = this->comm_.all_reduce(stream, view(smallest), ReduceOp::min);
    first.wait(stream);
    second.wait(stream);
    const int last = this->size_ - 1;
    EXPECT_EQ(largest, filled<TypeParam>(n, [&](auto i) { return number<TypeParam>(last, i); }));
    EXPECT_EQ(smallest, filled<TypeParam>(n, [](auto i) { return number<TypeParam>(0, i); }));
  }
}

TYPED_TEST(Collectives, ReduceScatterGivesEachRankItsPart) {
  for (const std::int64_t n : this->sizes_) {
    std::vector<TypeParam> input = this->numbers(n * this->size_);
    const std::vector<TypeParam> before = input;
    std::vector<TypeParam> output(static_cast<std::size_t>(n));
    this->comm_.reduce_scatter(stream, view(output), view(input)).wait(stream);
    EXPECT_EQ(output, filled<TypeParam>(n, [&](std::int64_t i) {
                return sum_of_numbers<TypeParam>(this->size_, this->rank_ * n + i);
              }));
    EXPECT_EQ(input, before);
  }
}

TYPED_TEST(Collectives, ReduceScatterWorksInPlace) {
  for (const std::int64_t n : this->sizes_) {
    std::vector<TypeParam> data = this->numbers(n * this->size_);
    const Tensor part = view(data).slice(0, this->rank_ * n, n);
    this->comm_.reduce_scatter(stream, part, view(data)).wait(stream);
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_EQ(part.as<TypeParam>()[i],
                sum_of_numbers<TypeParam>(this->size_, this->rank_ * n + i));
  }
}

TYPED_TEST(Collectives, AllGatherPutsPartsInOrder) {
  for (const std::int64_t n : this->sizes_) {
    std::vector<TypeParam> input = this->numbers(n);
    std::vector<TypeParam> output(static_cast<std::size_t>(n * this->size_));
    const auto expected = filled<TypeParam>(n * this->size_, [&](std::int64_t i) {
      return number<TypeParam>(static_cast<int>(i / n), i % n);
    });
    this->comm_.all_gather(stream, view(output), view(input)).wait(stream);
    EXPECT_EQ(output, expected);

    std::vector<TypeParam> in_place(output.size());
    const Tensor part = view(in_place).slice(0, this->rank_ * n, n);
    if (n > 0) std::memcpy(part.data(), input.data(), static_cast<std::size_t>(part.bytes()));
    this->comm_.all_gather(stream, view(in_place), part).wait(stream);
    EXPECT_EQ(in_place, expected);
  }
}

TYPED_TEST(Collectives, AllGatherOfARunTouchesNothingElse) {
  for (const std::int64_t n : this->sizes_) {
    const std::int64_t begin = n / 3, end = n - n / 4;
    std::vector<TypeParam> data(static_cast<std::size_t>(n * this->size_));
    const Tensor part = view(data).slice(0, this->rank_ * n, n);
    const std::vector<TypeParam> own = this->numbers(n);
    if (n > 0) std::memcpy(part.data(), own.data(), static_cast<std::size_t>(part.bytes()));
    const auto expected = filled<TypeParam>(n * this->size_, [&](std::int64_t i) {
      const bool gathered = i % n >= begin && i % n < end;
      const bool here = i / n == this->rank_;
      return gathered || here ? number<TypeParam>(static_cast<int>(i / n), i % n) : TypeParam{};
    });
    const Traffic before = this->comm_.traffic();
    this->comm_.all_gather_run(stream, view(data), begin, end - begin).wait(stream);
    EXPECT_EQ(data, expected);
    const auto bytes = static_cast<std::uint64_t>(this->size_ * (end - begin)) * sizeof(TypeParam);
    EXPECT_EQ(this->comm_.traffic(),
              before + (bytes > 0 ? ring::all_gather(this->size_, bytes) : Traffic{}));
  }
}

TYPED_TEST(Collectives, BroadcastComesFromTheRoot) {
  for (const std::int64_t n : this->sizes_)
    for (const int root : {0, this->size_ - 1}) {
      std::vector<TypeParam> data = this->numbers(n);
      this->comm_.broadcast(stream, view(data), root).wait(stream);
      EXPECT_EQ(data, filled<TypeParam>(n, [&](auto i) { return number<TypeParam>(root, i); }));
    }
}

}  // namespace
}  // namespace triax

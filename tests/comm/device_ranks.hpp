// SPDX-License-Identifier: Apache-2.0
#pragma once
// Behaviour common to all communicators of device memory, as a fixture for the tests of each.
#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/comm/device_values.hpp"
#include "tests/comm/rank_world.hpp"

namespace triax {

/// `comm` in each check contains all ranks.
class DeviceRanks : public testing::Test {
 protected:
  DeviceRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  std::vector<float> numbers(std::int64_t n) const {
    return filled<float>(n, [this](std::int64_t i) { return number<float>(rank_, i); });
  }
  std::vector<float> sums(std::int64_t n, std::int64_t first = 0) const {
    return filled<float>(n,
                         [&](std::int64_t i) { return sum_of_numbers<float>(size_, first + i); });
  }
  void expect_reduce_scatter(Communicator& comm) const {
    for (const std::int64_t n : lengths_) {
      const std::vector<float> before = numbers(n * size_);
      const Values input(queue_, before),
          output(queue_, std::vector<float>(before.size() / static_cast<std::size_t>(size_)));
      comm.reduce_scatter(queue_, output.tensor(), input.tensor()).wait(queue_);
      EXPECT_EQ(output.seen(queue_), sums(n, rank_ * n));
      EXPECT_EQ(input.seen(queue_), before);
      const Tensor part = input.tensor().slice(0, rank_ * n, n);
      comm.reduce_scatter(queue_, part, input.tensor()).wait(queue_);
      const std::vector<float> after = input.seen(queue_);
      EXPECT_EQ(std::vector<float>(after.begin() + rank_ * n, after.begin() + (rank_ + 1) * n),
                sums(n, rank_ * n));
    }
  }
  void expect_all_gather(Communicator& comm) const {
    for (const std::int64_t n : lengths_) {
      const auto all = filled<float>(
          n * size_, [n](auto i) { return number<float>(static_cast<int>(i / n), i % n); });
      const Values input(queue_, numbers(n)), output(queue_, std::vector<float>(all.size()));
      comm.all_gather(queue_, output.tensor(), input.tensor()).wait(queue_);
      EXPECT_EQ(output.seen(queue_), all);
      std::vector<float> own(all.size());
      std::copy_n(all.begin() + rank_ * n, n, own.begin() + rank_ * n);
      const Values whole(queue_, own);
      comm.all_gather(queue_, whole.tensor(), whole.tensor().slice(0, rank_ * n, n)).wait(queue_);
      EXPECT_EQ(whole.seen(queue_), all);
    }
  }
  void expect_all_gather_run(Communicator& comm) const {
    constexpr std::int64_t n = 10, begin = 3, count = 4;
    std::vector<float> expected(static_cast<std::size_t>(n * size_), -1.0F);
    std::vector<float> own = expected;
    for (std::int64_t i = 0; i < n * size_; ++i)
      if (i % n >= begin && i % n < begin + count)
        expected[static_cast<std::size_t>(i)] = static_cast<float>(i);
    std::copy_n(expected.begin() + rank_ * n, n, own.begin() + rank_ * n);
    const Values whole(queue_, own);
    comm.all_gather_run(queue_, whole.tensor(), begin, count).wait(queue_);
    EXPECT_EQ(whole.seen(queue_), expected);
  }
  void expect_broadcast(Communicator& comm) const {
    const int root = size_ - 1;
    const Values data(queue_, numbers(99));
    comm.broadcast(queue_, data.tensor(), root).wait(queue_);
    EXPECT_EQ(data.seen(queue_), filled<float>(99, [&](auto i) { return number<float>(root, i); }));
  }
  /// Needs two ranks or more.
  void expect_messages_by_tags(Communicator& comm) const {
    const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
    const Values one(queue_, numbers(50)), two(queue_, std::vector<float>(50, 7.0F));
    const Values first(queue_, std::vector<float>(50)), second(queue_, std::vector<float>(50));
    Request from_two = comm.receive(queue_, second.tensor(), last, 2);
    Request from_one = comm.receive(queue_, first.tensor(), last, 1);
    Request to_one = comm.send(queue_, one.tensor(), next, 1);
    Request to_two = comm.send(queue_, two.tensor(), next, 2);
    for (Request* request : {&from_one, &from_two, &to_one, &to_two}) request->wait(queue_);
    EXPECT_EQ(first.seen(queue_),
              filled<float>(50, [&](auto i) { return number<float>(last, i); }));
    EXPECT_EQ(second.seen(queue_), std::vector<float>(50, 7.0F));
  }

  int rank_ = 0, size_ = 1;
  Stream queue_;  // device stream, set by the derived fixture if there is a device
  const std::vector<std::int64_t> lengths_ = {1, 17, 1000, 100'003};
};

}  // namespace triax

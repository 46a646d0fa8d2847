// SPDX-License-Identifier: Apache-2.0
// Sends and receives of device memory by the fake NCCL of the tests (fake_nccl.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "tests/comm/nccl_ranks.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fake_nccl.hpp"

namespace triax {
namespace {

using test::error_of;
using testing::HasSubstr;

class NcclExchange : public Nccl {};

// Two messages to the next rank and two from the previous one match by order, whatever their tags,
// and none waits for another of its exchange.
TEST_F(NcclExchange, HasMessagesThatMeetByTheirOrder) {
  const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
  const Values one(queue_, numbers(50)), two(queue_, std::vector<float>(7, 7.0F));
  for (int i = 0; i < 3; ++i) {
    const Values first(queue_, std::vector<float>(50)), second(queue_, std::vector<float>(7));
    comm_.begin_exchange();
    Request from_one = comm_.receive(queue_, first.tensor(), last, 8);
    Request to_one = comm_.send(queue_, one.tensor(), next, 9);
    EXPECT_FALSE(to_one.test()) << "it has not begun";
    Request to_two = comm_.send(queue_, two.tensor(), next, 9);
    Request from_two = comm_.receive(queue_, second.tensor(), last, 9);
    comm_.end_exchange(queue_);
    for (Request* request : {&from_two, &from_one, &to_one, &to_two}) request->wait(queue_);
    EXPECT_EQ(first.seen(queue_),
              filled<float>(50, [&](auto n) { return number<float>(last, n); }));
    EXPECT_EQ(second.seen(queue_), std::vector<float>(7, 7.0F));
  }
  EXPECT_EQ(grid_->staging_bytes(), 0) << "nothing goes through host memory";
}

// Work on the stream before the exchange is sent; work after it reads the received data.
TEST_F(NcclExchange, IsOrderedByStreams) {
  const int next = (rank_ + 1) % size_, last = (rank_ + size_ - 1) % size_;
  const Stream other(MemorySpace::device);
  const Values source(queue_, numbers(1000)), data(queue_, std::vector<float>(1000)),
      come(queue_, std::vector<float>(1000)), result(queue_, std::vector<float>(1000));
  copy(queue_, data.tensor(), source.tensor());
  comm_.begin_exchange();
  Request sent = comm_.send(queue_, data.tensor(), next, 0);
  Request received = comm_.receive(queue_, come.tensor(), last, 0);
  comm_.end_exchange(queue_);
  received.wait(other);
  sent.wait(queue_);
  copy(other, result.tensor(), come.tensor());
  EXPECT_EQ(result.seen(other),
            filled<float>(1000, [&](auto n) { return number<float>(last, n); }));
}

// One rank has nothing to exchange; another has an exchange of one message.
TEST_F(NcclExchange, MayHaveOneMessageOrNone) {
  const Values data(queue_, {static_cast<float>(rank_)});
  comm_.begin_exchange();
  Request message;
  if (rank_ == 0) message = comm_.send(queue_, data.tensor(), 1, 0);
  if (rank_ == 1) message = comm_.receive(queue_, data.tensor(), 0, 0);
  comm_.end_exchange(queue_);
  message.wait(queue_);
  EXPECT_EQ(data.seen(queue_).front(), static_cast<float>(rank_ == 1 ? 0 : rank_));
  const Values alone(queue_, {static_cast<float>(rank_)});
  if (rank_ == 0) comm_.receive(queue_, alone.tensor(), 1, 0).wait(queue_);
  if (rank_ == 1) comm_.send(queue_, alone.tensor(), 0, 0).wait(queue_);
  EXPECT_EQ(alone.seen(queue_).front(), static_cast<float>(rank_ == 0 ? 1 : rank_));
}

TEST_F(NcclExchange, HasMessagesToOthersAlone) {
  const Values data(queue_, {1.0F});
  EXPECT_THAT(error_of([&] { comm_.send(queue_, data.tensor(), rank_, 0); }),
              HasSubstr("a message between ranks"));
  comm_.begin_exchange();
  EXPECT_THAT(error_of([&] { comm_.begin_exchange(); }), HasSubstr("within another"));
  EXPECT_THAT(error_of([&] { comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum); }),
              HasSubstr("a collective within an exchange"));
  comm_.end_exchange(queue_);
}

// True if the message does not complete within 300 ms, which is ample for one that does not hang.
bool hangs(Request& request) {
  Patience patience(WaitPolicy::yield);
  for (const auto begun = std::chrono::steady_clock::now();
       std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(300); patience.pause())
    if (request.test()) return false;
  return true;
}

// The fake NCCL is as strict as possible: messages that may hang in NCCL do hang in it.
class NcclHangs : public Nccl {
 protected:
  void SetUp() override {
    Nccl::SetUp();
    data_.emplace(queue_, std::vector<float>{1.0F});
    other_.emplace(queue_, std::vector<float>{1.0F});
  }
  void expect_hang(Request request) {
    EXPECT_TRUE(hangs(request));
    comm_.barrier(stream).wait(stream);
    test::break_nccl_links();
    EXPECT_THAT(error_of([&] { grid_->drain(queue_); }), HasSubstr("a message of NCCL failed"));
  }
  std::optional<Values> data_, other_;
};

TEST_F(NcclHangs, WhereEachRankReceivesFirst) {
  Request received = comm_.receive(queue_, data_->tensor(), (rank_ + 1) % size_, 0);
  received.wait(queue_);
  expect_hang(comm_.send(queue_, other_->tensor(), (rank_ + size_ - 1) % size_, 0));
}

TEST_F(NcclHangs, WhereAReceiveHoldsUpASumThatItsSenderHasFirst) {
  Request sum, message;
  if (rank_ == 0) message = comm_.receive(queue_, data_->tensor(), 1, 0);
  sum = grid_->everywhere().all_reduce(queue_, other_->tensor(), ReduceOp::sum);
  if (rank_ == 1) message = comm_.send(queue_, data_->tensor(), 0, 0);
  message.wait(queue_);
  expect_hang(std::move(sum));
}

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
// Messages of device memory by the fake NCCL of the tests (fake_nccl.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "src/comm/device/device_messages.hpp"
#include "tests/comm/nccl_ranks.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fake_nccl.hpp"

namespace triax {
namespace {

using test::error_of;
using testing::HasSubstr;
using testing::Not;

TEST_F(Nccl, IsTakenWhereEachRankHasAGpu) {
  EXPECT_THAT(grid_->devices(), HasSubstr("one per rank: messages by NCCL 2.28.9"));
  EXPECT_FALSE(grid_->stages_messages());
}

TEST_F(Nccl, AllReduceSumsAndFindsTheLargest) {
  for (const std::int64_t n : lengths_) {
    const Values data(queue_, numbers(n)), other(queue_, numbers(n));
    Request sum = comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum);
    Request most = comm_.all_reduce(queue_, other.tensor(), ReduceOp::max);
    sum.wait(queue_);
    most.wait(queue_);
    EXPECT_EQ(data.seen(queue_), sums(n));
    EXPECT_EQ(other.seen(queue_),
              filled<float>(n, [&](auto i) { return number<float>(size_ - 1, i); }));
  }
}

TEST_F(Nccl, SumsEveryType) {
  constexpr std::int64_t n = 6;
  const auto expect_sums = [&]<class T>(T) {
    const Mirror memory(MemorySpace::device, n * sizeof(T));
    auto* const values = static_cast<T*>(memory.here().data());
    for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<T>(number<float>(rank_, i));
    memory.push(queue_);
    comm_.all_reduce(queue_, memory.there().tensor(dtype_of<T>(), {n})).wait(queue_);
    memory.pull(queue_);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(static_cast<float>(values[i]), sum_of_numbers<float>(size_, i));
  };
  expect_sums(double{});
  expect_sums(float{});
  expect_sums(Bf16{});
  expect_sums(F16{});
  expect_sums(std::int32_t{});
  expect_sums(std::int64_t{});
  expect_sums(std::uint8_t{});
}

TEST_F(Nccl, ReduceScatterGivesEachRankItsPartAlsoInPlace) {
  expect_reduce_scatter(comm_);
}

TEST_F(Nccl, AllGatherPutsPartsInOrder) {
  expect_all_gather(comm_);
}

TEST_F(Nccl, ARunOfEachPartIsGatheredAndNothingElseTouched) {
  expect_all_gather_run(comm_);
}

TEST_F(Nccl, BroadcastGivesAllTheRootsData) {
  expect_broadcast(comm_);
}

// The devices work late: a message that does not wait for its stream would send zeros, and a stream
// that does not wait for the message would read old values.
TEST_F(Nccl, StreamsOrderWhatIsUnderWay) {
  const Stream other(MemorySpace::device);
  const std::vector<float> mine = numbers(1000);
  const Values source(queue_, mine), data(queue_, std::vector<float>(1000)),
      result(queue_, std::vector<float>(1000));
  copy(queue_, data.tensor(), source.tensor());
  Request sum = comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum);
  sum.wait(other);
  copy(other, result.tensor(), data.tensor());
  EXPECT_EQ(result.seen(other), sums(1000));
}

// One rank waits for its messages in order, the others wait for none of them: their devices finish
// by themselves during a wait for a host message.
TEST_F(Nccl, DevicesGoOnByThemselves) {
  const Values first(queue_, numbers(100)), second(queue_, numbers(200));
  Request one = comm_.all_reduce(queue_, first.tensor(), ReduceOp::sum);
  Request two = comm_.all_reduce(queue_, second.tensor(), ReduceOp::sum);
  one.wait(queue_);
  two.wait(queue_);
  if (rank_ == 0) grid_->drain(queue_);
  comm_.barrier(stream).wait(stream);
  EXPECT_EQ(first.seen(queue_), sums(100));
  EXPECT_EQ(second.seen(queue_), sums(200));
}

TEST_F(Nccl, TestIsTrueOnceAMessageIsComplete) {
  const Values data(queue_, numbers(1000));
  Request sum = comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum);
  for (Patience patience(WaitPolicy::yield); !sum.test(); patience.pause()) {
  }
  EXPECT_EQ(data.seen(queue_), sums(1000));
}

TEST_F(Nccl, RunsOfAnAxisAndThoseAcrossThemAreGroupsOfTheirOwn) {
  const int run = size_ / 2;
  const Values within(queue_, {static_cast<float>(rank_)}),
      across(queue_, {static_cast<float>(rank_)});
  grid_->part(Axis::data, 2).all_reduce(queue_, within.tensor(), ReduceOp::sum).wait(queue_);
  grid_->across(Axis::data, 2).all_reduce(queue_, across.tensor(), ReduceOp::sum).wait(queue_);
  const int first = rank_ / run * run;
  const int last = first + run - 1;
  EXPECT_EQ(within.seen(queue_).front(), static_cast<float>((first + last) * run / 2));
  EXPECT_EQ(across.seen(queue_).front(), static_cast<float>(2 * (rank_ % run) + run));
}

TEST_F(Nccl, EveryAxisHasItsOwn) {
  if (size_ != 4) return;
  const auto grid = grid_of({.pipeline = 2, .tensor = 2});
  const Values data(queue_, {1.0F});
  for (const Axis axis : {Axis::tensor, Axis::pipeline})
    grid->along(axis).all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  grid->everywhere().all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  EXPECT_EQ(data.seen(queue_).front(), 16.0F);
  EXPECT_EQ(grid->data().size(), 1);
  grid->data().all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  EXPECT_EQ(data.seen(queue_).front(), 16.0F);
}

TEST_F(Nccl, HostMemoryTakesMpi) {
  std::vector<float> data = numbers(1000);
  comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  EXPECT_EQ(data, sums(1000));
}

TEST_F(Nccl, CountsWhatItSends) {
  const Values data(queue_, numbers(1000));
  const Traffic before = comm_.traffic();
  comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  Traffic expected = before;
  expected += ring::all_reduce(size_, 4000);
  comm_.begin_exchange();
  Request sent, received;
  if (rank_ == 0) sent = comm_.send(queue_, data.tensor(), 1, 0);
  if (rank_ == 1) received = comm_.receive(queue_, data.tensor(), 0, 0);
  comm_.end_exchange(queue_);
  sent.wait(queue_);
  received.wait(queue_);
  if (rank_ == 0) expected += ring::send(4000);
  grid_->drain(queue_);
  EXPECT_EQ(comm_.traffic().bytes, expected.bytes);
  EXPECT_EQ(comm_.traffic().messages, expected.messages);
}

// If versions differ, all ranks refuse alike. A grid that accepted them could deadlock in NCCL.
TEST_F(Nccl, VersionsThatCanHangAreRefused) {
  test::set_nccl_version(rank_ == size_ - 1 ? 22506 : 0);
  const std::string error = error_of([this] { grid_of({.data = size_}); });
  test::set_nccl_version(0);
  EXPECT_THAT(error, HasSubstr("NCCL 2.25.6 is too old"));
  EXPECT_THAT(error, HasSubstr("Load NCCL 2.26.0 or newer"));
}

TEST_F(Nccl, AVariableThatLetsItHangIsNamed) {
  const char* const name = "NCCL_LAUNCH_ORDER_IMPLICIT";
  EXPECT_STREQ(std::getenv(name), "1");
  EXPECT_THAT(grid_->devices(), Not(HasSubstr(name)));
  ::setenv(name, "0", 1);
  EXPECT_THAT(grid_of({.data = size_})->devices(), HasSubstr(std::string("Unset ") + name));
  ::setenv(name, "1", 1);
}

// Each NCCL communicator takes GPU memory.
TEST_F(Nccl, GroupsOfSeveralRanksHaveACommunicator) {
  EXPECT_EQ(test::nccl_communicators(), 2) << "all ranks, and the data axis";
  grid_.reset();
  const auto grid = grid_of({.pipeline = size_});
  const bool end = grid->embedding().size() > 1;
  EXPECT_EQ(test::nccl_communicators(), end ? 3 : 2)
      << "all ranks, the pipeline axis, and first and last stage";
  const Values data(queue_, {1.0F});
  grid->embedding().all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  EXPECT_EQ(data.seen(queue_).front(), end ? 2.0F : 1.0F);
}

TEST_F(Nccl, CommunicatorsAreDestroyedWithTheGrid) {
  EXPECT_GT(test::nccl_communicators(), 0);
  static_cast<void>(grid_->part(Axis::data, 2));
  grid_.reset();
  EXPECT_EQ(test::nccl_communicators(), 0);
}

// A wait for the device throws the error, whichever communicator it came from, and ends all
// messages under way, so that memory can be freed and the grid destroyed.
TEST_F(Nccl, AnAsynchronousErrorEndsTheWaitAndNamesTheGroup) {
  const Values data(queue_, numbers(1000));
  comm_.barrier(stream).wait(stream);
  test::break_nccl_links();
  comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  const std::string error = error_of([&] { grid_->drain(queue_); });
  EXPECT_THAT(error, HasSubstr("a message of NCCL failed on "));
  EXPECT_THAT(error, HasSubstr("remote process exited"));
  EXPECT_EQ(test::nccl_communicators(), 0) << "all are aborted";
  grid_->drain(queue_);
  // A caller that mistook it for a file error must not use communicators that are gone.
  EXPECT_THROW(comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum), DeviceMessagesFailed);
}

// The norm of a step waits on the device behind the last sums; here these fail.
TEST_F(Nccl, AMessageBehindOneThatFailedIsAbortedToo) {
  const Values data(queue_, numbers(1000)), norm(queue_, {1.0F});
  comm_.barrier(stream).wait(stream);
  test::break_nccl_links();
  comm_.all_reduce(queue_, data.tensor(), ReduceOp::sum).wait(queue_);
  grid_->everywhere().all_reduce(queue_, norm.tensor(), ReduceOp::sum).wait(queue_);
  EXPECT_THAT(error_of([&] { grid_->drain(queue_); }), HasSubstr("a message of NCCL failed on "));
  EXPECT_EQ(test::nccl_communicators(), 0);
}

// A rank whose next message is MPI's would otherwise wait for ever after an NCCL failure.
TEST_F(Nccl, WaitsForMpiHearOfItToo) {
  test::break_nccl_links();
  if (rank_ == 0) {  // receives after the others have given up
    for (int r = 1; r < size_; ++r)
      MPI_Recv(nullptr, 0, MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  Request message = grid_->world().barrier(stream);
  const std::string error = error_of([&] {
    message.wait(stream);
    grid_->drain(queue_);
  });
  EXPECT_THAT(error, HasSubstr("a message of NCCL failed on "));
  if (rank_ != 0) MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
}

// NCCL would hang; the fake reports the mismatch.
TEST_F(Nccl, CallsThatDoNotMatchAreAnError) {
  const Values data(queue_, numbers(1000));
  comm_.all_reduce(queue_, data.tensor().slice(0, 0, rank_ == 0 ? 1000 : 999), ReduceOp::sum)
      .wait(queue_);
  EXPECT_THAT(error_of([&] { grid_->drain(queue_); }), HasSubstr("data axis"));
}

}  // namespace
}  // namespace triax

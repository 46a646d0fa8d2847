// SPDX-License-Identifier: Apache-2.0
// mpi_communicator: point to point, errors, and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/comm/rank_world.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Messages : public testing::Test {
 protected:
  MpiCommunicator comm_ = world_communicator();
  int rank_ = comm_.rank();
  int size_ = comm_.size();
  int next_ = (rank_ + 1) % size_;
  int previous_ = (rank_ + size_ - 1) % size_;
};

TEST_F(Messages, GoRoundTheRing) {
  if (size_ == 1) GTEST_SKIP() << "one rank has no neighbour";
  for (const std::int64_t n : {0, 1, 17, 1'000'003}) {
    auto out = filled<float>(n, [this](auto i) { return number<float>(rank_, i); });
    std::vector<float> in(out.size());
    Request receive = comm_.receive(stream, view(in), previous_, 3);
    Request send = comm_.send(stream, view(out), next_, 3);
    send.wait(stream);
    receive.wait(stream);
    EXPECT_EQ(in, filled<float>(n, [this](auto i) { return number<float>(previous_, i); }));
  }
}

TEST_F(Messages, MatchByTagInAnyOrder) {
  if (size_ == 1) GTEST_SKIP() << "one rank has no neighbour";
  constexpr int count = 6;
  std::vector<std::int32_t> out(count);
  std::vector<std::int32_t> in(count);
  std::vector<Request> requests;
  for (int tag = 0; tag < count; ++tag) {
    out[static_cast<std::size_t>(tag)] = rank_ * 100 + tag;
    requests.push_back(comm_.send(stream, view(out).slice(0, tag, 1), next_, tag));
  }
  for (int tag = count - 1; tag >= 0; --tag)
    requests.push_back(comm_.receive(stream, view(in).slice(0, tag, 1), previous_, tag));
  for (std::size_t i = requests.size(); i-- > 0;) requests[i].wait(stream);
  for (int tag = 0; tag < count; ++tag)
    EXPECT_EQ(in[static_cast<std::size_t>(tag)], previous_ * 100 + tag);
}

TEST_F(Messages, OfOneTagArriveInOrder) {
  if (size_ == 1) GTEST_SKIP() << "one rank has no neighbour";
  std::vector<std::int32_t> out = {rank_, rank_ + 1000, rank_ + 2000};
  std::vector<std::int32_t> in(3);
  std::vector<Request> requests;
  for (int i = 0; i < 3; ++i)
    requests.push_back(comm_.receive(stream, view(in).slice(0, i, 1), previous_, 0));
  for (int i = 0; i < 3; ++i)
    requests.push_back(comm_.send(stream, view(out).slice(0, i, 1), next_, 0));
  for (Request& request : requests) request.wait(stream);
  EXPECT_EQ(in, (std::vector<std::int32_t>{previous_, previous_ + 1000, previous_ + 2000}));
}

TEST_F(Messages, CountTheBytesOfSends) {
  if (size_ == 1) GTEST_SKIP() << "one rank has no neighbour";
  std::vector<double> out(10);
  std::vector<double> in(10);
  Request receive = comm_.receive(stream, view(in), previous_, 0);
  comm_.send(stream, view(out), next_, 0).wait(stream);
  receive.wait(stream);
  EXPECT_EQ(comm_.traffic(), (Traffic{1, 80}));
}

TEST_F(Messages, RefuseTagsAndPeersThatCannotBe) {
  std::vector<float> data(1);
  EXPECT_GE(comm_.largest_tag(), 32767);
  EXPECT_THROW(comm_.send(stream, view(data), size_, 0), Error);
  EXPECT_THROW(comm_.receive(stream, view(data), -1, 0), Error);
  EXPECT_THROW(comm_.send(stream, view(data), rank_, 0), Error);
  if (size_ == 1) return;
  EXPECT_THROW(comm_.send(stream, view(data), next_, -1), Error);
  if (comm_.largest_tag() == std::numeric_limits<int>::max()) return;
  try {
    comm_.send(stream, view(data), next_, comm_.largest_tag() + 1);
    FAIL() << "a tag above the bound was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(std::to_string(comm_.largest_tag())));
  }
}

// Error text of receiving `elements` floats when `sent` arrive.
std::string error_of_receive(MpiCommunicator& comm, std::int64_t elements, std::int64_t sent) {
  std::vector<float> in(static_cast<std::size_t>(elements));
  std::vector<float> out(static_cast<std::size_t>(sent));
  const int size = comm.size();
  Request receive = comm.receive(stream, view(in), (comm.rank() + size - 1) % size, 9);
  Request send = comm.send(stream, view(out), (comm.rank() + 1) % size, 9);
  std::string text;
  try {
    receive.wait(stream);
  } catch (const Error& error) {
    text = error.what();
  }
  send.wait(stream);
  return text;
}

TEST_F(Messages, OfAnotherLengthAreErrors) {
  if (size_ == 1) GTEST_SKIP() << "one rank has no neighbour";
  const std::string here = "rank " + std::to_string(rank_) + " of the test";
  EXPECT_EQ(error_of_receive(comm_, 4, 4), "");
  EXPECT_THAT(error_of_receive(comm_, 4, 3),
              AllOf(HasSubstr(here), HasSubstr("12 bytes"), HasSubstr("16")));
  EXPECT_THAT(error_of_receive(comm_, 4, 5),
              AllOf(HasSubstr(here), HasSubstr("MPI_Irecv"), HasSubstr("trunc")));
  EXPECT_EQ(error_of_receive(comm_, 4, 4), "");  // and the communicator still works
}

TEST_F(Messages, AllocateNothingOnceWarm) {
  std::vector<float> data(100);
  std::vector<float> all(static_cast<std::size_t>(100 * size_));
  const auto step = [&] {
    Request sum = comm_.all_reduce(stream, view(data), ReduceOp::sum);
    Request scattered =
        comm_.reduce_scatter(stream, view(all).slice(0, rank_ * 100, 100), view(all));
    sum.wait(stream);
    scattered.wait(stream);
    comm_.all_gather(stream, view(all), view(all).slice(0, rank_ * 100, 100)).wait(stream);
    comm_.barrier(stream).wait(stream);
  };
  step();
  const long before = allocation_count();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace triax

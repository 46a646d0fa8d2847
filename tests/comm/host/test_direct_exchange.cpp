// SPDX-License-Identifier: Apache-2.0
// Sums by messages between all pairs of ranks, as MpiCommunicator uses them.
#include "src/comm/host/direct_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tests/comm/node_groups.hpp"
#include "tests/support/allocation_count.hpp"

namespace {

std::string failing;         // name of the call that fails now
long sent = 0, sends = 0;    // bytes and calls of MPI_Isend
long reductions_of_mpi = 0;  // calls

}  // namespace

// Replacements of the library's functions, which remain available as PMPI_*.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (failing == "MPI_Isend") return MPI_ERR_INTERN;
  int width = 0;
  PMPI_Type_size(type, &width);
  sent += static_cast<long>(count) * width;
  ++sends;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (failing == "MPI_Irecv") return MPI_ERR_INTERN;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  ++reductions_of_mpi;
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}
int MPI_Ireduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  ++reductions_of_mpi;
  return PMPI_Ireduce_scatter_block(in, out, count, type, op, comm, request);
}

namespace triax {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Direct : public testing::Test {
 protected:
  MpiCommunicator comm_ = world_communicator();
  int rank_ = comm_.rank(), size_ = comm_.size();

  // Sum over all ranks in rank order, in float32.
  std::vector<float> sum_in_order(std::int64_t n) const {
    std::vector<float> sum = rough(n, 0);
    for (int r = 1; r < size_; ++r) {
      const std::vector<float> term = rough(n, r);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
    return sum;
  }
  template <class T>
  static bool same(const T* a, const T* b, std::size_t n) {
    return std::memcmp(a, b, n * sizeof(T)) == 0;
  }
};

// Shards of one element, less than a piece, a piece and a tail, and many pieces.
TEST_F(Direct, PartsAreSummedInTheOrderOfTheRanksBitForBit) {
  for (const std::int64_t part : {1, 1001, 70'001, 700'001}) {
    const std::vector<float> expected = sum_in_order(part * size_);
    std::vector<float> input = rough(part * size_, rank_);
    std::vector<float> output(static_cast<std::size_t>(part));
    comm_.reduce_scatter(stream, view(output), view(input)).wait(stream);
    EXPECT_TRUE(same(output.data(), expected.data() + rank_ * part, output.size())) << part;
    EXPECT_EQ(input, rough(part * size_, rank_));
    comm_.reduce_scatter(stream, view(input).slice(0, rank_ * part, part), view(input))
        .wait(stream);
    EXPECT_TRUE(same(input.data() + rank_ * part, expected.data() + rank_ * part, output.size()));
  }
}

// Lengths that no number of ranks divides, some so short that not all ranks have a shard.
TEST_F(Direct, WholesAreSummedInTheOrderOfTheRanksBitForBit) {
  for (const std::int64_t n : {4096, 5003, 70'001, 1'000'003}) {
    const std::vector<float> expected = sum_in_order(n);
    std::vector<float> data = rough(n, rank_);
    comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    EXPECT_TRUE(same(data.data(), expected.data(), data.size())) << n;
  }
}

// One rank's elements, in turn, are so large that each other rank's alone is lost beside them, but
// their sum is not.
template <class T>
class Rounding : public Direct {};
using Halves = testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(Rounding, Halves);

TYPED_TEST(Rounding, IsDoneOnceAtTheEnd) {
  using T = TypeParam;
  const int size = this->size_, rank = this->rank_;
  const auto value = [size](std::int64_t i, int r) {
    constexpr float eighth = std::is_same_v<T, Bf16> ? 2.0F : 0.25F;  // of the spacing of T at 2048
    return T(i % size == r ? 2048.0F : eighth * static_cast<float>((i / 3 + r) % 5 + 1));
  };
  for (const std::int64_t n : {1, 7, 1000, 300'000}) {
    const auto own = filled<T>(n * size, [&](std::int64_t i) { return value(i, rank); });
    const auto exact = filled<T>(n * size, [&](std::int64_t i) {
      float sum = 0;  // of a few multiples of 1/4: exact
      for (int r = 0; r < size; ++r) sum += static_cast<float>(value(i, r));
      return T(sum);
    });
    std::vector<T> all = own, input = own, part(static_cast<std::size_t>(n));
    this->comm_.all_reduce(stream, view(all), ReduceOp::sum).wait(stream);
    EXPECT_TRUE(this->same(all.data(), exact.data(), all.size())) << n;
    this->comm_.reduce_scatter(stream, view(part), view(input)).wait(stream);
    EXPECT_TRUE(this->same(part.data(), exact.data() + rank * n, part.size())) << n;
  }
}

TEST_F(Direct, SendsEachPartOnceInItsOwnType) {
  constexpr std::int64_t n = 100'001;
  std::vector<Bf16> input(static_cast<std::size_t>(n * size_)), part(static_cast<std::size_t>(n));
  sent = reductions_of_mpi = 0;
  comm_.reduce_scatter(stream, view(part), view(input)).wait(stream);
  EXPECT_EQ(sent, 2 * n * (size_ - 1));
  sent = 0;
  comm_.all_reduce(stream, view(input), ReduceOp::sum).wait(stream);
  const auto of_part = static_cast<long>(direct::part_bytes(size_, input.size() * 2));
  EXPECT_LE(sent, 2 * of_part * (size_ - 1));
  EXPECT_GE(sent, 2 * (of_part - 64 * size_) * (size_ - 1));
  EXPECT_EQ(reductions_of_mpi, 0);
}

// Messages sent to rank 0 before it joins wait in its memory or in MPI's, so there must be few.
TEST_F(Direct, LittleIsSentToARankThatIsLate) {
  constexpr std::int64_t n = 3'000'000;
  std::vector<float> data(n, 1.0F);
  std::int32_t token = 0;
  const Tensor message(&token, {1});
  if (rank_ == 0) {
    for (int other = 1; other < size_; ++other)
      comm_.receive(stream, message, other, 0).wait(stream);
    comm_.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  } else {
    sends = 0;
    Request sum = comm_.all_reduce(stream, view(data), ReduceOp::sum);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(sum.test());
    // Steps before the one that waits for rank 0 complete.
    EXPECT_LE(sends, direct::window + size_ - 2);
    comm_.send(stream, message, 0, 0).wait(stream);
    sum.wait(stream);
  }
  EXPECT_EQ(data, std::vector<float>(n, static_cast<float>(size_)));
}

// Sums, gathers and messages of all tags between two ranks together, in a different order per rank.
TEST_F(Direct, MixesWithOtherMessages) {
  const int next = (rank_ + 1) % size_, previous = (rank_ + size_ - 1) % size_;
  for (int round = 0; round < 10; ++round) {
    std::vector<float> a(300'000, 1.0F), b(5000, 2.0F), out(500'000, static_cast<float>(rank_)),
        in(out.size()), part(10'000, static_cast<float>(rank_)),
        parts(part.size() * static_cast<std::size_t>(size_));
    std::vector<double> wide(1000, 1.0);
    std::array<Request, 7> requests;
    requests[0] = comm_.all_reduce(stream, view(a), ReduceOp::sum);
    requests[1] = comm_.send(stream, view(out), next, comm_.largest_tag());
    requests[2] = comm_.all_gather(stream, view(parts), view(part));
    requests[3] = comm_.all_reduce(stream, view(b), ReduceOp::sum);
    requests[4] = comm_.receive(stream, view(in), previous, comm_.largest_tag());
    requests[5] = comm_.all_reduce(stream, view(wide), ReduceOp::sum);
    requests[6] = comm_.barrier(stream);
    std::rotate(requests.begin(), requests.begin() + (3 * rank_ + round) % 7, requests.end());
    for (Request& request : requests) request.wait(stream);
    EXPECT_EQ(a, std::vector<float>(a.size(), static_cast<float>(size_)));
    EXPECT_EQ(b, std::vector<float>(b.size(), static_cast<float>(2 * size_)));
    EXPECT_EQ(in, std::vector<float>(in.size(), static_cast<float>(previous)));
    EXPECT_EQ(wide, std::vector<double>(wide.size(), size_));
    EXPECT_EQ(parts.back(), static_cast<float>(size_ - 1));
  }
}

// Two groups of the same ranks; each rank waits first in another group.
TEST_F(Direct, AWaitInOneGroupMovesTheOthersOn) {
  MessageProgress progress;
  MpiCommunicator one(NodeGroup::split(0), WaitPolicy::yield, "one", {.progress = &progress});
  MpiCommunicator two(NodeGroup::split(0), WaitPolicy::yield, "two", {.progress = &progress});
  for (int round = 0; round < 10; ++round) {
    std::vector<float> a(400'000, 1.0F), b(300'000, 2.0F);
    Request in_one = one.all_reduce(stream, view(a), ReduceOp::sum);
    Request in_two = two.all_reduce(stream, view(b), ReduceOp::sum);
    (rank_ % 2 == 0 ? in_one : in_two).wait(stream);
    (rank_ % 2 == 0 ? in_two : in_one).wait(stream);
    EXPECT_EQ(a.back() + b.back(), static_cast<float>(3 * size_));
  }
}

TEST_F(Direct, HoldsWhatIsPlannedAndAllocatesOnce) {
  std::vector<float> large(800'000), small(6000), part(30'000),
      parts(part.size() * static_cast<std::size_t>(size_));
  const auto planned = [&](const Messages& messages) {
    return direct::held_bytes(size_, messages.part);
  };
  EXPECT_EQ(comm_.held_bytes(), 0U);
  const auto step = [&] {
    Request first = comm_.all_reduce(stream, view(small), ReduceOp::sum);
    Request second = comm_.all_reduce(stream, view(large), ReduceOp::sum);
    Request third = comm_.reduce_scatter(stream, view(part), view(parts));
    first.wait(stream);
    second.wait(stream);
    third.wait(stream);
  };
  comm_.all_reduce(stream, view(small), ReduceOp::sum).wait(stream);
  EXPECT_EQ(comm_.held_bytes(), planned(planned_all_reduce(size_, small.size() * 4)));
  step();
  EXPECT_EQ(comm_.held_bytes(), planned(planned_all_reduce(size_, large.size() * 4) +
                                        planned_reduce_scatter(size_, parts.size() * 4)));
  const long before = allocation_count();
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(allocation_count(), before);
}

std::string error_of(const auto& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST_F(Direct, FailedCallsAreErrorsThatNameTheRank) {
  const std::string here = " failed on rank " + std::to_string(rank_) + " of the test";
  for (const std::string call : {"MPI_Irecv", "MPI_Isend"}) {
    MpiCommunicator comm = world_communicator();
    std::vector<float> data(100'000);
    failing = call;
    EXPECT_THAT(error_of([&] { comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream); }),
                HasSubstr(call + here));
    failing.clear();
  }
}

TEST_F(Direct, ADifferentLengthOnAnotherRankIsAnError) {
  if (size_ != 2) GTEST_SKIP() << "both ranks find it";
  std::vector<float> input(rank_ == 0 ? 200 : 400), part(input.size() / 2);
  const std::string said =
      error_of([&] { comm_.reduce_scatter(stream, view(part), view(input)).wait(stream); });
  if (rank_ == 0)
    EXPECT_THAT(said, AllOf(HasSubstr("MPI_Irecv"), HasSubstr("trunc"), HasSubstr("rank 0")));
  else
    EXPECT_THAT(said, HasSubstr("rank 1 of the test received 400 bytes of a sum from rank 0 of the "
                                "group, and expected 800"));
}

// Open MPI counts all shards of its reduce-scatter together in an int, without an error.
TEST_F(Direct, SumsOfMpiThatAnIntCannotCountAreRefused) {
#if MPI_VERSION < 4
  const auto n = (std::numeric_limits<std::int32_t>::max() / size_) + 1L;  // never read
  std::array<double, 2> memory{};
  const Tensor input(memory.data(), {n * size_});
  const Tensor output(memory.data(), {n});
  EXPECT_THAT(error_of([&] {
                comm_.reduce_scatter(stream, rank_ == 0 ? output : input.slice(0, rank_ * n, n),
                                     input);
              }),
              HasSubstr("too long for this MPI"));
#endif
}

}  // namespace
}  // namespace triax

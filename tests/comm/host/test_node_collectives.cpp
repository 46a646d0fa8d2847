// SPDX-License-Identifier: Apache-2.0
// Collectives of one node and (in test_hierarchical_exchange) of several nodes.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/comm/node_groups.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

// Elements per shard: none, one, a piece and a tail, and many rounds.
const std::vector<std::int64_t> sizes = {0, 1, 17, 1000, 100'003, 700'001};

template <class T>
class NodeCollectives : public testing::Test, public NodeWorld {
 protected:
  std::vector<T> numbers(std::int64_t n) const {
    return filled<T>(n, [this](std::int64_t i) { return T(number<float>(rank, i)); });
  }
  std::vector<T> sums(std::int64_t first, std::int64_t n) const {
    return filled<T>(n, [&](std::int64_t i) { return T(sum_of_numbers<float>(size, first + i)); });
  }
  static bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  }
};

// Types summed in shared memory, and types passed on to MPI.
using Types = testing::Types<float, Bf16, F16, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(NodeCollectives, Types);

TYPED_TEST(NodeCollectives, AllReduceSums) {
  for (const std::int64_t n : sizes) {
    std::vector<TypeParam> data = this->numbers(n);
    this->comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    EXPECT_TRUE(this->same(data, this->sums(0, n))) << n;
  }
}

TYPED_TEST(NodeCollectives, ReduceScatterGivesEachRankItsPart) {
  for (const std::int64_t n : sizes) {
    std::vector<TypeParam> input = this->numbers(n * this->size);
    const std::vector<TypeParam> before = input;
    std::vector<TypeParam> output(static_cast<std::size_t>(n));
    this->comm.reduce_scatter(stream, view(output), view(input)).wait(stream);
    EXPECT_TRUE(this->same(output, this->sums(this->rank * n, n))) << n;
    if (ranks_of_a_node == 0) {
      EXPECT_TRUE(this->same(input, before)) << n;
    }
  }
}

TYPED_TEST(NodeCollectives, ReduceScatterWorksInPlace) {
  for (const std::int64_t n : sizes) {
    std::vector<TypeParam> data = this->numbers(n * this->size);
    const Tensor part = view(data).slice(0, this->rank * n, n);
    this->comm.reduce_scatter(stream, part, view(data)).wait(stream);
    const std::vector<TypeParam> got(part.as<TypeParam>(), part.as<TypeParam>() + n);
    EXPECT_TRUE(this->same(got, this->sums(this->rank * n, n))) << n;
  }
}

TYPED_TEST(NodeCollectives, AllGatherPutsPartsInOrder) {
  for (const std::int64_t n : sizes) {
    std::vector<TypeParam> input = this->numbers(n);
    std::vector<TypeParam> output(static_cast<std::size_t>(n * this->size));
    const auto expected = filled<TypeParam>(n * this->size, [&](std::int64_t i) {
      return TypeParam(number<float>(static_cast<int>(i / n), i % n));
    });
    this->comm.all_gather(stream, view(output), view(input)).wait(stream);
    EXPECT_TRUE(this->same(output, expected)) << n;
    EXPECT_TRUE(this->same(input, this->numbers(n))) << n;

    std::vector<TypeParam> in_place(output.size());
    const Tensor part = view(in_place).slice(0, this->rank * n, n);
    if (n > 0) std::memcpy(part.data(), input.data(), static_cast<std::size_t>(part.bytes()));
    this->comm.all_gather(stream, view(in_place), part).wait(stream);
    EXPECT_TRUE(this->same(in_place, expected)) << n;
  }
}

TYPED_TEST(NodeCollectives, AllGatherOfARunTouchesNothingElse) {
  for (const std::int64_t n : sizes) {
    const std::int64_t begin = n / 3, end = n - n / 4;
    std::vector<TypeParam> data(static_cast<std::size_t>(n * this->size));
    const Tensor part = view(data).slice(0, this->rank * n, n);
    const std::vector<TypeParam> own = this->numbers(n);
    if (n > 0) std::memcpy(part.data(), own.data(), static_cast<std::size_t>(part.bytes()));
    const auto expected = filled<TypeParam>(n * this->size, [&](std::int64_t i) {
      const bool gathered = i % n >= begin && i % n < end;
      const bool here = i / n == this->rank;
      return gathered || here ? TypeParam(number<float>(static_cast<int>(i / n), i % n))
                              : TypeParam{};
    });
    const Traffic before = this->comm.traffic();
    this->comm.all_gather_run(stream, view(data), begin, end - begin).wait(stream);
    EXPECT_TRUE(this->same(data, expected)) << n;
    const auto bytes = static_cast<std::uint64_t>(this->size * (end - begin)) * sizeof(TypeParam);
    EXPECT_EQ(this->comm.traffic(),
              before + (bytes > 0 ? ring::all_gather(this->size, bytes) : Traffic{}));
  }
}

class NodeRequests : public testing::Test, public NodeWorld {};

// All ranks start the same collectives in the same order; each waits for or tests them in its own
// order, with other work in between.
TEST_F(NodeRequests, ManyAreUnderWayAndEndInAnyOrder) {
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 same(static_cast<unsigned>(round)), own(static_cast<unsigned>(100 * round + rank));
    constexpr int count = 30;
    std::vector<std::vector<float>> data, more;
    std::vector<Request> requests;
    std::vector<int> kinds;
    data.reserve(count);
    more.reserve(count);
    for (int k = 0; k < count; ++k) {
      const std::int64_t n = 1 + static_cast<std::int64_t>(same()) % (k % 7 == 0 ? 400'000 : 5000);
      const int kind = static_cast<int>(same() % 3);
      kinds.push_back(kind);
      const auto value = [&](std::int64_t i) { return number<float>(rank, i + k); };
      data.push_back(filled<float>(kind == 1 ? n * size : n, value));
      more.emplace_back(static_cast<std::size_t>(kind == 0 ? 0 : kind == 1 ? n : n * size));
      const Tensor a = view(data.back()), b = view(more.back());
      requests.push_back(kind == 0   ? comm.all_reduce(stream, a, ReduceOp::sum)
                         : kind == 1 ? comm.reduce_scatter(stream, b, a)
                                     : comm.all_gather(stream, b, a));
      if (own() % 4 == 0) requests[own() % requests.size()].test();
      if (own() % 8 == 0) usleep(own() % 300);
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), own);
    for (const std::size_t k : order) {
      if (own() % 2 == 0) requests[k].test();
      requests[k].wait(stream);
      EXPECT_FALSE(requests[k].pending());
    }
    for (int k = 0; k < count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const auto n = static_cast<std::int64_t>(data[at].size());
      if (kinds[at] == 0) {
        EXPECT_EQ(data[at],
                  filled<float>(n, [&](auto i) { return sum_of_numbers<float>(size, i + k); }));
      } else if (kinds[at] == 1) {
        EXPECT_EQ(more[at], filled<float>(n / size, [&](auto i) {
                    return sum_of_numbers<float>(size, rank * (n / size) + i + k);
                  }));
      } else {
        EXPECT_EQ(more[at], filled<float>(n * size, [&](auto i) {
                    return number<float>(static_cast<int>(i / n), i % n + k);
                  }));
      }
    }
  }
}

// More operations than the exchange keeps after their end, with one always under way.
TEST_F(NodeRequests, OneIsAlwaysUnderWay) {
  constexpr int count = 300;
  std::array<std::vector<float>, 2> data;
  std::array<Request, 2> requests;
  for (int k = 0; k < count; ++k) {
    const auto at = static_cast<std::size_t>(k % 2);
    requests[at].wait(stream);
    if (k >= 2) {
      ASSERT_EQ(data[at].back(), sum_of_numbers<float>(size, k - 2));
    }
    data[at].assign(100, number<float>(rank, k));
    requests[at] = comm.all_reduce(stream, view(data[at]), ReduceOp::sum);
  }
  for (Request& request : requests) request.wait(stream);
}

// Rank 0 joins late: starts and tests return on the others, and nothing completes before it joins.
TEST_F(NodeRequests, NothingWaitsButWait) {
  std::vector<float> data(300'000, 1.0F), part(data.size() / 4), parts(part.size() * size_t(size));
  std::int32_t token = 0;
  const Tensor message(&token, {1});
  const auto start = [&] {
    std::vector<Request> requests;
    requests.push_back(comm.all_reduce(stream, view(data), ReduceOp::sum));
    requests.push_back(comm.all_gather(stream, view(parts), view(part)));
    return requests;
  };
  std::vector<Request> requests;
  if (rank == 0) {
    for (int other = 1; other < size; ++other) comm.receive(stream, message, other, 0).wait(stream);
    requests = start();
  } else {
    requests = start();
    for (int i = 0; i < 100; ++i)
      for (Request& request : requests) EXPECT_FALSE(request.test());
    comm.send(stream, message, 0, 0).wait(stream);
  }
  bool over = false;
  while (!over) {
    over = true;
    for (Request& request : requests) over &= request.test();
  }
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size)));
}

// Each rank waits first in another group than the one in which others wait for it.
TEST_F(NodeRequests, AWaitInOneGroupMovesTheOthersOn) {
  if (size < 4 || size % 2 != 0) GTEST_SKIP() << "needs rows and columns";
  NodeGroup row(progress, rank / 2), column(progress, rank % 2);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> a(200'000, 1.0F), b(150'000, 2.0F), c(100'000, 3.0F);
    Request in_row = row.node.all_reduce(stream, view(a), ReduceOp::sum);
    Request in_column = column.node.all_reduce(stream, view(b), ReduceOp::sum);
    Request in_all = comm.all_reduce(stream, view(c), ReduceOp::sum);
    std::array<Request*, 3> order = {&in_row, &in_column, &in_all};
    std::rotate(order.begin(), order.begin() + (rank + round) % 3, order.end());
    for (Request* request : order) {
      request->wait(stream);
      if (rank % 3 == 1) usleep(200);
    }
    EXPECT_EQ(a, std::vector<float>(a.size(), 2.0F));
    EXPECT_EQ(b, std::vector<float>(b.size(), static_cast<float>(size)));
    EXPECT_EQ(c, std::vector<float>(c.size(), static_cast<float>(3 * size)));
  }
}

// MPI messages too long to be sent before they are received, while the group's ranks wait for each
// other.
TEST_F(NodeRequests, WaitsForMpiAndForSharedMemoryMoveEachOtherOn) {
  for (int round = 0; round < 10; ++round) {
    std::vector<float> data(500'000, 1.0F), out(1'000'000, static_cast<float>(rank)), in(out);
    Request sum = comm.all_reduce(stream, view(data), ReduceOp::sum);
    Request send = comm.send(stream, view(out), (rank + 1) % size, 1);
    Request receive = comm.receive(stream, view(in), (rank + size - 1) % size, 1);
    std::array<Request*, 3> order = {&sum, &send, &receive};
    std::rotate(order.begin(), order.begin() + (rank + round) % 3, order.end());
    for (Request* request : order) request->wait(stream);
    EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size)));
    EXPECT_EQ(in.back(), static_cast<float>((rank + size - 1) % size));
  }
}

TEST_F(NodeRequests, DoesNotAllocateOnceWarm) {
  std::vector<float> a(300'000), b(300'000), parts(1000 * static_cast<std::size_t>(size)),
      part(1000);
  const auto step = [&] {
    Request first = comm.all_reduce(stream, view(a), ReduceOp::sum);
    Request second = comm.all_reduce(stream, view(b), ReduceOp::sum);
    Request third = comm.all_gather(stream, view(parts), view(part));
    comm.reduce_scatter(stream, view(part), view(parts)).wait(stream);
    third.wait(stream);
    second.wait(stream);
    first.wait(stream);
  };
  step();
  const long before = allocation_count();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace triax

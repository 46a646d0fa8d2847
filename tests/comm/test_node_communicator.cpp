#include "src/comm/node_communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tests/comm/rank_world.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

constexpr NodeThresholds all_of_them{0, 0};

// A group made of all ranks that give the same color, with everything through shared memory that
// can go there.
struct NodeGroup {
  explicit NodeGroup(MessageProgress& progress, int color = 0, ProgressBoard* board = nullptr,
                     int number = 0, MessageClock* clock = nullptr)
      : mpi(split(color), WaitPolicy::yield, "a rank of the test",
            {board, number, &progress, clock}),
        node(mpi, NodeExchange(mpi.mpi(), "a test"), WaitPolicy::yield,
             {board, number, &progress, clock}) {
    node.set_thresholds(all_of_them);
  }
  static MPI_Comm split(int color) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &comm);
    return comm;
  }
  MpiCommunicator mpi;
  NodeCommunicator node;
};

struct NodeWorld {
  MessageProgress progress;
  NodeGroup group{progress};
  NodeCommunicator& comm = group.node;
  int rank = comm.rank(), size = comm.size();
};

// Parts without an element, of one, of a piece and a tail, and of many rounds.
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

// Types that are summed here, and those that are handed on.
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
    EXPECT_TRUE(this->same(input, before)) << n;
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

class Node : public testing::Test, public NodeWorld {
 protected:
  // What a rank has: numbers whose sum depends on its order.
  static std::vector<float> rough(std::int64_t n, int rank) {
    return filled<float>(n, [rank](std::int64_t i) {
      const double x = std::sin(static_cast<double>(i * 8 + rank + 1) * 12.9898);
      return static_cast<float>(x * std::pow(10.0, static_cast<double>((i + rank) % 7)));
    });
  }
  std::vector<float> sum_in_order(std::int64_t n) const {
    std::vector<float> sum = rough(n, 0);
    for (int r = 1; r < size; ++r) {
      const std::vector<float> term = rough(n, r);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
    return sum;
  }
};

TEST_F(Node, SumsAreThoseInTheOrderOfTheRanksBitForBit) {
  for (const std::int64_t part : {1, 1001, 100'007}) {
    const std::int64_t n = part * size;
    const std::vector<float> expected = sum_in_order(n);
    std::vector<float> data = rough(n, rank), input = data;
    std::vector<float> output(static_cast<std::size_t>(part));
    comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    comm.reduce_scatter(stream, view(output), view(input)).wait(stream);
    EXPECT_EQ(std::memcmp(data.data(), expected.data(), data.size() * sizeof(float)), 0) << part;
    EXPECT_EQ(
        std::memcmp(output.data(), expected.data() + rank * part, output.size() * sizeof(float)), 0)
        << part;
  }
}

TEST_F(Node, SmallMessagesOtherOperationsAndTypesGoByMpi) {
  constexpr std::int64_t n = 1000;
  comm.set_thresholds({.sums = 4 * n * static_cast<std::uint64_t>(size), .gathers = 4 * n});
  const auto sent_by_mpi = [&](const auto& call) {
    const std::uint64_t before = group.mpi.traffic().messages;
    call();
    return group.mpi.traffic().messages - before;
  };
  std::vector<float> part(static_cast<std::size_t>(n)), data(part.size() * size_t(size));
  const auto reduce = [&](std::int64_t elements, ReduceOp op) {
    comm.all_reduce(stream, view(data).slice(0, 0, elements), op).wait(stream);
  };
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size - 1, ReduceOp::sum); }), 1U);
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size, ReduceOp::sum); }), 0U);
  EXPECT_EQ(sent_by_mpi([&] { reduce(n * size, ReduceOp::max); }), 1U);
  EXPECT_EQ(sent_by_mpi([&] { comm.reduce_scatter(stream, view(part), view(data)).wait(stream); }),
            0U);
  EXPECT_EQ(sent_by_mpi([&] { comm.all_gather(stream, view(data), view(part)).wait(stream); }), 0U);
  std::vector<double> wide(data.size());
  EXPECT_EQ(sent_by_mpi([&] { comm.all_reduce(stream, view(wide), ReduceOp::sum).wait(stream); }),
            1U);
}

// All ranks take part in the same collectives in the same order; each waits for them or tests them
// in an order of its own, and does other things between.
TEST_F(Node, ManyAreUnderWayAndEndInAnyOrder) {
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

// More than the exchange keeps of those that are over, never all of them over at once.
TEST_F(Node, OneIsAlwaysUnderWay) {
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

// Rank 0 joins late: the others' starts and tests come back, and nothing is over before.
TEST_F(Node, NothingWaitsButWait) {
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

// Each rank waits first for a message of another group than the one that others wait for it in.
TEST_F(Node, AWaitInOneGroupMovesTheOthersOn) {
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

// Messages too long to be sent before they are received, while this group's wait for each other.
TEST_F(Node, WaitsForMpiAndForSharedMemoryMoveEachOtherOn) {
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

TEST_F(Node, CountsTrafficAsTheRingDoes) {
  const auto n = static_cast<std::uint64_t>(size);
  std::vector<float> data(1000 * n), part(1000);
  const std::uint64_t bytes = 4000 * n;
  comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{1, 2 * (n - 1) * bytes / n}));
  comm.reduce_scatter(stream, view(part), view(data)).wait(stream);
  comm.all_gather(stream, view(data), view(part)).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{3, 4 * (n - 1) * bytes / n}));
  comm.broadcast(stream, view(data), 0).wait(stream);
  EXPECT_EQ(comm.traffic(), (Traffic{4, 5 * (n - 1) * bytes / n}));
}

// From a message's start to its end it is under way; what its calls take is spent.
TEST_F(Node, TimesAreNoted) {
  MessageClock clock;
  NodeGroup timed(progress, 0, nullptr, 0, &clock);
  std::vector<float> data(300'000, 1.0F), small(10, 1.0F);
  Request large = timed.node.all_reduce(stream, view(data), ReduceOp::sum);
  const double started = clock.times().spent;
  EXPECT_GT(started, 0.0);
  EXPECT_EQ(clock.times().under_way, 0.0);
  usleep(2000);
  EXPECT_EQ(clock.times().spent, started);
  large.wait(stream);
  EXPECT_GE(clock.times().under_way, 0.002);
  EXPECT_GT(clock.times().spent, started);
  EXPECT_LT(clock.times().spent, clock.times().under_way);
  const MessageTimes before = clock.times();
  timed.node.broadcast(stream, view(small), 0).wait(stream);  // handed on: counted once
  EXPECT_GT(clock.times().under_way, before.under_way);
  EXPECT_GT(clock.times().spent, before.spent);
}

TEST_F(Node, DoesNotAllocateOnceWarm) {
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

TEST_F(Node, RefusesPartsThatDoNotFit) {
  std::vector<float> whole(static_cast<std::size_t>(8 * size)), part(7);
  std::vector<double> other_type(8);
  EXPECT_THROW(comm.all_gather(stream, view(whole), view(part)), Error);
  EXPECT_THROW(comm.reduce_scatter(stream, view(part), view(whole)), Error);
  EXPECT_THROW(comm.all_gather(stream, view(whole), view(other_type)), Error);
  const Tensor shifted = view(whole).slice(0, 1, 8);
  EXPECT_THROW(comm.reduce_scatter(stream, shifted, view(whole)), Error);
  EXPECT_THROW(comm.all_gather_run(stream, view(whole), 5, 4), Error);
}

// A rank that is waited for in vain is named, and with what it waits for.
TEST(NodeOnBoard, MessagesAreNoted) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ProgressBoard board;
  board.share(MPI_COMM_WORLD, rank, size, "rank " + std::to_string(rank));
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  const int number = board.add_group("data axis", all);
  MessageProgress progress;
  NodeGroup group(progress, 0, &board, number);
  std::vector<float> data(300'000, 1.0F);
  Request sum;
  if (rank == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    sum = group.node.all_reduce(stream, view(data), ReduceOp::sum);
  } else {
    sum = group.node.all_reduce(stream, view(data), ReduceOp::sum);
    EXPECT_FALSE(sum.test());
    const ProgressBoard::Message waited{number, 1, CallKind::all_reduce, 1'200'000};
    board.begin_wait(waited);
    const std::string report = board.report(1.0);
    EXPECT_THAT(report, testing::HasSubstr("all-reduce 1 of 1200000 bytes, data axis"));
    EXPECT_THAT(report, testing::HasSubstr("rank 0"));
    board.end_wait();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const std::uint32_t waits = board.waits();
  sum.wait(stream);
  EXPECT_EQ(board.waits(), waits + 2);  // a wait began and ended
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace triax

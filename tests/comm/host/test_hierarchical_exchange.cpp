// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host/hierarchical_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "tests/comm/node_groups.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using testing::HasSubstr;

class Hierarchy : public testing::Test, public NodeWorld {};

TEST_F(Hierarchy, EveryRankGetsTheSameBitsEachTime) {
  constexpr std::int64_t n = 240'000;
  std::vector<float> first, data;
  for (int round = 0; round < 3; ++round) {
    data = rough(n, rank);
    comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
    if (round == 0) first = data;
    EXPECT_EQ(std::memcmp(data.data(), first.data(), data.size() * sizeof(float)), 0);
  }
  comm.broadcast(stream, view(first), 0).wait(stream);
  EXPECT_EQ(std::memcmp(data.data(), first.data(), data.size() * sizeof(float)), 0);
}

TEST_F(Hierarchy, ReduceScatterGivesTheBitsOfAllReduce) {
  constexpr std::int64_t n = 50'001;
  std::vector<float> sum = rough(n * size, rank), input = sum, part(n);
  comm.all_reduce(stream, view(sum), ReduceOp::sum).wait(stream);
  comm.reduce_scatter(stream, view(part), view(input)).wait(stream);
  EXPECT_EQ(std::memcmp(part.data(), sum.data() + rank * n, part.size() * sizeof(float)), 0);
}

TEST_F(Hierarchy, WhatDoesNotDivideGoesByMpi) {
  std::vector<float> data(1001, 1.0F);
  const std::uint64_t before = group.mpi.traffic().messages;
  comm.all_reduce(stream, view(data), ReduceOp::sum).wait(stream);
  EXPECT_EQ(group.mpi.traffic().messages, before + 1);
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size)));
}

// Two nodes with half the ranks each.
TEST_F(Hierarchy, NodesMayBeLarger) {
  NodeCommunicator halves(group.mpi, exchange_of(group.mpi.mpi(), size / 2), WaitPolicy::yield,
                          {.progress = &progress});
  halves.set_sizes({});
  EXPECT_EQ(halves.ranks_sharing(), size / 2);
  std::vector<float> data(8000, static_cast<float>(rank)), parts(80'000), part(parts.size() / 8);
  part.resize(parts.size() / static_cast<std::size_t>(size), static_cast<float>(rank));
  Request sum = halves.all_reduce(stream, view(data), ReduceOp::sum);
  std::fill(part.begin(), part.end(), static_cast<float>(rank));
  Request gather = halves.all_gather(stream, view(parts), view(part));
  gather.wait(stream);
  sum.wait(stream);
  EXPECT_EQ(data, std::vector<float>(data.size(), static_cast<float>(size * (size - 1) / 2)));
  for (std::size_t i = 0; i < parts.size(); ++i)
    ASSERT_EQ(parts[i], static_cast<float>(i / part.size())) << i;
}

// If the ranks of one node cannot share memory, no rank uses the exchange, and all name that node.
TEST_F(Hierarchy, IsNotUsableWhereOneNodeSharesNothing) {
  const auto body = [&] {
    const HierarchicalExchange exchange(
        group.mpi.mpi(), ranks_of_a_node, WaitPolicy::yield,
        fmt::format("rank {} on n{}", rank, rank / ranks_of_a_node));
    EXPECT_FALSE(exchange.usable());
    EXPECT_EQ(exchange.refusal(),
              fmt::format("rank {} on n{}: on its node rank {}: {}", size - ranks_of_a_node,
                          size / ranks_of_a_node - 1, size - 1, std::strerror(ENOSYS)));
  };
  if (rank == size - 1)
    test::with_refused(SYS_memfd_create, {}, ENOSYS, body);
  else
    body();
}

}  // namespace
}  // namespace triax

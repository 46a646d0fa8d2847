// SPDX-License-Identifier: Apache-2.0
// exchange_bytes(): rings, one way, empty messages, and messages of several parts.
#include "kernels/base/mpi/exchange.hpp"

#include "tests/io/rank_fixtures.hpp"

namespace triax {
namespace {

using namespace test;

std::vector<std::byte> message_of(int rank, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    message[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank)) & 0xFFU);
  return message;
}

TEST(Exchange, AroundARing) {
  const Ranks ranks(MPI_COMM_WORLD);
  for (int shift = 1; shift < ranks.size; ++shift) {
    const int to = (ranks.rank + shift) % ranks.size;
    const int from = (ranks.rank + ranks.size - shift) % ranks.size;
    // Lengths differ, and one is 0.
    const auto bytes = [](int rank) { return 100000 * static_cast<std::size_t>(rank); };
    EXPECT_EQ(exchange_bytes(ranks, message_of(ranks.rank, bytes(ranks.rank)), to, from),
              message_of(from, bytes(from)));
  }
}

TEST(Exchange, OneWayAndAlone) {
  const Ranks ranks(MPI_COMM_WORLD);
  EXPECT_TRUE(exchange_bytes(MPI_COMM_NULL, message_of(0, 10), no_peer, no_peer).empty());
  for (int sender = 1; sender < ranks.size; ++sender) {
    const auto received =
        exchange_bytes(ranks, message_of(ranks.rank, 1000), ranks.rank == sender ? 0 : no_peer,
                       ranks.rank == 0 ? sender : no_peer);
    EXPECT_EQ(received, ranks.rank == 0 ? message_of(sender, 1000) : std::vector<std::byte>());
  }
}

TEST(Exchange, LongerThanOneMessageOfMpi) {
  const Ranks ranks(MPI_COMM_WORLD);
  if (ranks.size != 2) return;
  const std::size_t bytes = (std::size_t{1} << 28) + 5;
  const int other = 1 - ranks.rank;
  const auto received =
      exchange_bytes(ranks, message_of(ranks.rank, ranks.rank == 0 ? bytes : 3), other, other);
  EXPECT_TRUE(received == message_of(other, ranks.rank == 0 ? 3 : bytes));
}

}  // namespace
}  // namespace triax

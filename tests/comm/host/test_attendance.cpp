// SPDX-License-Identifier: Apache-2.0
// A rank shows the ranks of its node that it waits or tests, so that they wait a moment for it.
#include <gtest/gtest.h>
#include <mpi.h>

#include "tests/comm/node_groups.hpp"

namespace triax {
namespace {

TEST(Attendance, IsSeenByTheRanksOfANode) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (const int ranks_of_node : {2, size}) {
    const std::unique_ptr<Exchange> exchange = exchange_of(MPI_COMM_WORLD, ranks_of_node);
    ASSERT_TRUE(exchange->usable()) << exchange->refusal();
    EXPECT_FALSE(exchange->others_attend());
    MPI_Barrier(MPI_COMM_WORLD);
    const bool first_of_node = rank % ranks_of_node == 0;
    if (first_of_node) exchange->attend(true);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(exchange->others_attend(), !first_of_node);
    MPI_Barrier(MPI_COMM_WORLD);
    if (first_of_node) exchange->attend(false);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_FALSE(exchange->others_attend());
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

}  // namespace
}  // namespace triax

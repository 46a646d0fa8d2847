// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/mpi_large_count.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

TEST(LargeCount, PassesWhatFits) {
  EXPECT_EQ(mpi::count_of<int>(2147483647), 2147483647);
  EXPECT_EQ(mpi::count_of<std::int64_t>(std::int64_t{1} << 40), std::int64_t{1} << 40);
}

TEST(LargeCount, RefusesWhatAnIntCannotHold) {
  EXPECT_THROW(mpi::count_of<int>(std::int64_t{2147483647} + 1), Error);
}

#if MPI_VERSION >= 4
TEST(LargeCount, IsWideWithMpi4) {
  EXPECT_GE(sizeof(mpi::Count), 8U);
}
#endif

}  // namespace
}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi/shared_slots.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/comm/mpi/owned_handle.hpp"
#include "tests/comm/rank_world.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using testing::HasSubstr;
using testing::Not;

struct World {
  int rank = 0, size = 1;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

TEST(SharedSlots, EachRankReadsWhatTheOthersWrote) {
  const World world;
  constexpr std::size_t bytes = 10'000;
  const SharedSlots slots(MPI_COMM_WORLD, "triax-test", bytes, "a test");
  ASSERT_EQ(slots.refusal(), "");
  ASSERT_EQ(slots.size(), world.size);
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(slots.slot(world.rank)[i], std::byte{});
  MPI_Barrier(MPI_COMM_WORLD);
  std::memset(slots.slot(world.rank), world.rank + 1, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int r = 0; r < world.size; ++r)
    for (const std::size_t i : {std::size_t{0}, bytes - 1})
      EXPECT_EQ(slots.slot(r)[i], static_cast<std::byte>(r + 1)) << "of rank " << r;
  MPI_Barrier(MPI_COMM_WORLD);
}

// Slots need no file name, so a killed rank leaves none behind, and no mount needs free space.
TEST(SharedSlots, HaveNoName) {
  const SharedSlots slots(MPI_COMM_WORLD, "triax-test", 100, "a test");
  std::string mapped;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("triax-test") != line.npos) mapped += line + '\n';
  EXPECT_THAT(mapped, HasSubstr("/memfd:triax-test (deleted)"));
  EXPECT_THAT(mapped, Not(HasSubstr("/dev/shm")));
}

TEST(SharedSlots, NobodyHasAnyWhereOneRankCannotShare) {
  const World world;
  const int last = world.size - 1;
  OwnedComm backwards;  // its rank 0 is the last of the job
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank, backwards.address());
  const auto body = [&] {
    for (const MPI_Comm ranks : {MPI_COMM_WORLD, backwards.get()}) {
      const SharedSlots slots(ranks, "triax-test", 100, "a test");
      EXPECT_TRUE(slots.empty());
      EXPECT_EQ(slots.refusal(), "rank " + std::to_string(last) + ": " + std::strerror(ENOSYS));
    }
  };
  if (world.rank == last)
    test::with_refused(SYS_memfd_create, {}, ENOSYS, body);
  else
    body();
}

TEST(SharedSlots, NobodyHasAnyWhereOneRankMayNotOpenThem) {
  const World world;
  if (world.size == 1) GTEST_SKIP() << "nothing is opened";
  const auto body = [&] {
    const SharedSlots slots(MPI_COMM_WORLD, "triax-test", 100, "a test");
    EXPECT_TRUE(slots.empty());
    EXPECT_EQ(slots.refusal(), std::string("rank 0: ") + std::strerror(EACCES));
  };
  if (world.rank == 0)
    test::with_refused(SYS_openat, {.number = 2, .has = O_RDWR}, EACCES, body);
  else
    body();
}

}  // namespace
}  // namespace triax

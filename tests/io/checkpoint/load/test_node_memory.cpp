// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/load/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tests/io/rank_fixtures.hpp"
#include "tests/io/refused.hpp"

namespace triax {
namespace {

using namespace test;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t page = 4096;
// Memory for one chunk of each of four ranks.
constexpr NodeMemory::Need need{.all = 8 * page, .largest = page, .window = 4 * page};

// Each rank writes to all shared buffers and finds there what the ranks of its node wrote.
void expect_shared(const NodeMemory& memory, int first, int last) {
  const auto value = [](int rank, int part) {
    return static_cast<std::byte>(10 * rank + part + 1);
  };
  for (int part = 0; part < shared_parts; ++part) {
    ASSERT_NE(memory.shared(part), nullptr);
    std::fill_n(memory.shared(part) + (world_rank() - first) * page, page,
                value(world_rank(), part));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int part = 0; part < shared_parts; ++part)
    for (int rank = first; rank < last; ++rank) {
      const std::span block(memory.shared(part) + (rank - first) * page, page);
      EXPECT_THAT(block, Each(value(rank, part))) << "of rank " << rank;
    }
  MPI_Barrier(MPI_COMM_WORLD);
}

void expect_own(const NodeMemory& memory) {
  const std::int64_t bytes = memory.nodes().own[static_cast<std::size_t>(
      memory.nodes().node_of[static_cast<std::size_t>(world_rank())])];
  EXPECT_GE(bytes, page);
  for (int part = 0; part < memory.parts(); ++part) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.own(part)) % page, 0U);
    std::fill_n(memory.own(part), bytes, static_cast<std::byte>(part));
  }
  std::fill_n(memory.kept(), page, std::byte{99});
  for (int part = 0; part < memory.parts(); ++part)
    EXPECT_THAT(std::span(memory.own(part), static_cast<std::size_t>(bytes)),
                Each(static_cast<std::byte>(part)));
}

// Each rank is a node of its own, and all ranks get the reason.
void expect_apart(const NodeMemory& memory, const std::string& why) {
  for (int rank = 0; rank < world_size(); ++rank)
    EXPECT_EQ(memory.nodes().node_of[static_cast<std::size_t>(rank)], rank);
  EXPECT_THAT(memory.nodes().room, Each(0));
  EXPECT_EQ(memory.shared(0), nullptr);
  EXPECT_EQ(memory.refusal(), why);
  expect_own(memory);
}

TEST(NodeMemory, RanksOfANodeShare) {
  for (const int node : {NodeMemory::by_machine, 7}) {
    const NodeMemory memory(MPI_COMM_WORLD, need, node);
    EXPECT_EQ(memory.refusal(), "");
    EXPECT_THAT(memory.nodes().node_of, Each(0));
    ASSERT_EQ(memory.nodes().room.size(), 1U);
    expect_own(memory);
    if (world_size() == 1) {
      EXPECT_EQ(memory.shared(0), nullptr);
      continue;
    }
    EXPECT_GE(memory.nodes().room.front(), world_size() * page);
    expect_shared(memory, 0, world_size());
  }
}

// More ranks on a machine have fewer buffers in flight each; all use the number of the fullest
// machine.
TEST(NodeMemory, HasSoMuchOnItsWay) {
  EXPECT_EQ(parts_ahead(1), 4);
  EXPECT_EQ(parts_ahead(2), 2);
  for (const int many : {3, 4, 64}) EXPECT_EQ(parts_ahead(many), 2) << many;
  for (const int ranks : {1, 2, 3, 4}) {
    const NodeMemory memory(MPI_COMM_WORLD, need, world_rank() / ranks);
    EXPECT_EQ(memory.ahead(), parts_ahead(std::min(ranks, world_size()))) << ranks;
    EXPECT_EQ(memory.parts(), memory.ahead() + 1);
  }
  EXPECT_EQ(ranks_on_machine(MPI_COMM_WORLD), world_size());
}

// The memory plan counts this much for a load (loading_bytes_at_once).
TEST(NodeMemory, TakesSoManyBlocks) {
  for (const int ranks : {1, 2, 3, 4}) {
    const NodeMemory memory(MPI_COMM_WORLD, need, world_rank() / ranks);
    EXPECT_LE(memory.bytes(), most_blocks * page) << ranks;
    if (world_size() % ranks == 0) {
      EXPECT_LE(memory.bytes(), blocks_of(ranks) * page) << ranks;
      EXPECT_GT(memory.bytes(), (blocks_of(ranks) - 1) * page) << ranks;
    }
  }
}

// Lent memory is used in whole pages where it suffices; too little is left alone.
TEST(NodeMemory, TakesWhatIsLent) {
  const int parts = 1 + parts_ahead(world_size());
  const Buffer buffer(static_cast<std::size_t>((parts + 3) * page));
  const std::span all(static_cast<std::byte*>(buffer.data()), buffer.bytes());
  const NodeMemory own(MPI_COMM_WORLD, need),
      lent(MPI_COMM_WORLD, need, NodeMemory::by_machine, all.subspan(64));
  EXPECT_EQ(lent.own(0), all.data() + page);
  EXPECT_EQ(lent.kept(), lent.own(parts));
  EXPECT_EQ(own.bytes() - lent.bytes(), (parts + 1) * page);
  expect_own(lent);
  const NodeMemory little(MPI_COMM_WORLD, need, NodeMemory::by_machine,
                          all.first(static_cast<std::size_t>(parts * page)));
  EXPECT_NE(little.own(0), all.data());
  EXPECT_EQ(little.bytes(), own.bytes());
}

// Memory without a name: a killed rank leaves no file behind, and no mount needs space.
TEST(NodeMemory, WhatIsSharedHasNoName) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  const NodeMemory memory(MPI_COMM_WORLD, need);
  const auto mapped = [] {
    std::string all;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find("triax-load") != line.npos) all += line + '\n';
    return all;
  };
  EXPECT_THAT(mapped(), HasSubstr("/memfd:triax-load (deleted)"));
  EXPECT_THAT(mapped(), Not(HasSubstr("/dev/shm")));
}

TEST(NodeMemory, NodesShareEachForThemselves) {
  const int node = world_rank() / 2;
  const NodeMemory memory(MPI_COMM_WORLD, need, node);
  for (int rank = 0; rank < world_size(); ++rank)
    EXPECT_EQ(memory.nodes().node_of[static_cast<std::size_t>(rank)], rank / 2);
  const bool alone = world_rank() == world_size() - 1 && world_rank() % 2 == 0;
  EXPECT_EQ(memory.shared(0) == nullptr, alone);
  if (!alone) return expect_shared(memory, 2 * node, 2 * node + 2);
  MPI_Barrier(MPI_COMM_WORLD);  // as in expect_shared
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(NodeMemory, RanksAreApartWhereNoMemoryCanBeShared) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  with_refused(SYS_memfd_create, {}, ENOSYS, [] {
    expect_apart(NodeMemory(MPI_COMM_WORLD, need),
                 fmt::format("rank 0: {}", std::strerror(ENOSYS)));
  });
  with_refused(SYS_fallocate, {}, ENOSPC, [] {
    expect_apart(NodeMemory(MPI_COMM_WORLD, need),
                 fmt::format("rank 0: {}", std::strerror(ENOSPC)));
  });
}

// Simulates a container that forbids access to other processes.
TEST(NodeMemory, RanksAreApartWhereOneMayNotOpenIt) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  const int last = world_size() - 1;
  const std::string why = fmt::format("rank {}: {}", last, std::strerror(EACCES));
  const auto body = [&] { expect_apart(NodeMemory(MPI_COMM_WORLD, need), why); };
  if (world_rank() == last)
    with_refused(SYS_openat, {.number = 2, .has = O_RDWR}, EACCES, body);
  else
    body();
}

// Simulates a /proc that hides other processes (hidepid).
TEST(NodeMemory, RanksAreApartWhereOneDoesNotSeeTheOthers) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  const int last = world_size() - 1;
  const std::string why = fmt::format("rank {}: {}", last, std::strerror(ENOENT));
  const auto body = [&] { expect_apart(NodeMemory(MPI_COMM_WORLD, need), why); };
  constexpr RefusedArgument by_path = {.number = 3, .equals = 0};  // leaves fstat(2) alone
  if (world_rank() == last)
    with_refused(SYS_newfstatat, by_path, ENOENT, body);
  else
    body();
}

// Simulates a rank in another pid namespace: no rank tries to open its memory.
TEST(NodeMemory, RanksOfAnotherNamespaceAreANodeOfTheirOwn) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  const int last = world_size() - 1;
  const auto body = [&] {
    const NodeMemory memory(MPI_COMM_WORLD, need);
    EXPECT_EQ(memory.refusal(), "");
    for (int rank = 0; rank < world_size(); ++rank)
      EXPECT_EQ(memory.nodes().node_of[static_cast<std::size_t>(rank)], rank == last ? 1 : 0);
    EXPECT_EQ(memory.shared(0) != nullptr, world_rank() < last && world_size() > 2);
    expect_own(memory);
    // The ranks still share one disk.
    EXPECT_EQ(memory.ahead(), parts_ahead(world_size()));
    EXPECT_EQ(ranks_on_machine(MPI_COMM_WORLD), world_size());
  };
  if (world_rank() == last)
    with_refused(SYS_readlinkat, {}, EACCES, body);
  else
    body();
}

// Covers the rank that makes the memory and those that open it.
TEST(NodeMemory, RanksAreApartWhereOneCannotMapIt) {
  if (world_size() == 1) GTEST_SKIP() << "nothing is shared";
  for (int rank = 0; rank < world_size(); ++rank) {
    const std::string why = fmt::format("rank {}: {}", rank, std::strerror(ENOMEM));
    const auto body = [&] { expect_apart(NodeMemory(MPI_COMM_WORLD, need), why); };
    if (world_rank() == rank)
      with_refused(SYS_mmap, {.number = 3, .equals = MAP_SHARED}, ENOMEM, body);
    else
      body();
  }
}

TEST(NodeMemory, OtherNodesShareWhereOneCannot) {
  if (world_size() != 4) GTEST_SKIP() << "of two nodes of two ranks";
  const auto body = [] {
    const NodeMemory memory(MPI_COMM_WORLD, need, world_rank() / 2);
    EXPECT_THAT(memory.nodes().node_of, testing::ElementsAre(0, 0, 1, 2));
    EXPECT_THAT(memory.refusal(), HasSubstr("rank 3"));
    EXPECT_EQ(memory.shared(0) == nullptr, world_rank() >= 2);
    expect_own(memory);
  };
  if (world_rank() == 3)
    with_refused(SYS_openat, {.number = 2, .has = O_RDWR}, EACCES, body);
  else
    body();
}

TEST(NodeMemory, TakesNoMoreThanIsNeeded) {
  const NodeMemory nothing(MPI_COMM_WORLD, {});
  EXPECT_EQ(nothing.shared(0), nullptr);
  EXPECT_EQ(nothing.refusal(), "");
  // Only rank 0 has a large chunk: shared memory fits one chunk per two ranks, in whole pages, and
  // no more than all need.
  const std::int64_t most = world_rank() == 0 ? 3 * page - 1 : 10;
  const NodeMemory one(MPI_COMM_WORLD, {.all = most, .largest = most, .window = 1}, 0);
  EXPECT_THAT(one.nodes().own, testing::ElementsAre(3 * page));
  const std::int64_t pages = world_size() == 2 ? 3 : 4;
  EXPECT_THAT(one.nodes().room, testing::ElementsAre(world_size() == 1 ? 0 : pages * page));
}

}  // namespace
}  // namespace triax

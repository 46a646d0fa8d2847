// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace triax {
namespace {

TEST(Topology, CountsNoMoreCoresThanHardwareThreads) {
  cpu_set_t bound;
  ASSERT_EQ(sched_getaffinity(0, sizeof bound, &bound), 0);
  const int cores =
      share_of_cores(MPI_COMM_WORLD).of_node;  // no test binds its ranks to different cores
  EXPECT_GE(cores, 1);
  EXPECT_LE(cores, CPU_COUNT(&bound));
}

// Binds every thread of this process, since MPI has threads of its own.
void bind_process(const cpu_set_t& threads) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(task.path().filename());
    ASSERT_EQ(sched_setaffinity(id, sizeof threads, &threads), 0);
  }
}

// Each rank is bound to one hardware thread: the node's cores are their union.
TEST(Topology, UnitesTheBindingsOfRanks) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int together = share_of_cores(MPI_COMM_WORLD).of_node;

  int before_it = rank % CPU_COUNT(&before);
  int thread = 0;
  while (!CPU_ISSET(thread, &before) || before_it-- > 0) ++thread;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(thread, &one);
  bind_process(one);
  EXPECT_EQ(share_of_cores(MPI_COMM_SELF).of_node, 1);
  const int apart = share_of_cores(MPI_COMM_WORLD).of_node;
  EXPECT_EQ(apart, std::min({together, apart, ranks}));
  if (ranks >= CPU_COUNT(&before)) {
    EXPECT_EQ(apart, together);
  }
  bind_process(before);
}

// Fewer hardware threads never mean more cache.
TEST(Topology, CountsTheCachesOfItsOwnCores) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const std::int64_t all = cache_bytes();
  cpu_set_t one;
  CPU_ZERO(&one);
  int thread = 0;
  while (!CPU_ISSET(thread, &before)) ++thread;
  CPU_SET(thread, &one);
  bind_process(one);
  const std::int64_t own = cache_bytes();
  bind_process(before);
  EXPECT_LE(own, all);
  EXPECT_EQ(own > 0, all > 0);
}

// Ranks that fit on the node have cores of their own, the others one thread each.
TEST(Topology, GivesEachRankItsShare) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const CoreShare share = share_of_cores(MPI_COMM_WORLD);
  EXPECT_EQ(share.cores, std::max(1, share.cores));
  if (share.own()) {
    EXPECT_LE(share.cores * ranks, share.of_node + ranks);
    const std::vector<int> threads = share.threads();
    EXPECT_TRUE(std::is_sorted(threads.begin(), threads.end()));
  } else {
    EXPECT_EQ(share.cores, std::max(1, share.of_node / ranks));
  }
  std::vector<int> owners(1024, 0);
  for (const int thread : share.threads())
    if (thread < std::ssize(owners)) ++owners[static_cast<std::size_t>(thread)];
  MPI_Allreduce(MPI_IN_PLACE, owners.data(), static_cast<int>(owners.size()), MPI_INT, MPI_SUM,
                MPI_COMM_WORLD);
  EXPECT_LE(*std::max_element(owners.begin(), owners.end()), 1) << "a core of two ranks";
}

TEST(Topology, PinsTheProcessToItsShare) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const CoreShare share = share_of_cores(MPI_COMM_WORLD);
  EXPECT_EQ(pin_to(share), share.own());
  if (share.own()) {
    cpu_set_t bound;
    ASSERT_EQ(sched_getaffinity(0, sizeof bound, &bound), 0);
    EXPECT_EQ(CPU_COUNT(&bound), std::ssize(share.threads()));
    for (const int thread : share.threads()) EXPECT_TRUE(CPU_ISSET(thread, &bound));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  bind_process(before);
}

}  // namespace
}  // namespace triax

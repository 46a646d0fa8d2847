#include "src/comm/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace triax {
namespace {

constexpr int unlimited = 1'000'000;

TEST(Topology, ReadsTheQuotaOfAContainer) {
  EXPECT_EQ(cpus_of_quota("200000 100000", unlimited), 2);
  EXPECT_EQ(cpus_of_quota("150000 100000\n", unlimited), 2);
  EXPECT_EQ(cpus_of_quota("1000 100000", unlimited), 1);
  EXPECT_EQ(cpus_of_quota("max 100000", unlimited), unlimited);
  for (const char* text : {"", "max", "5", "5 ", "-1 100000", "0 100000", "5 0", "x y"})
    EXPECT_EQ(cpus_of_quota(text, unlimited), unlimited) << text;
}

TEST(Topology, CountsNoMoreCoresThanHardwareThreads) {
  cpu_set_t bound;
  ASSERT_EQ(sched_getaffinity(0, sizeof bound, &bound), 0);
  const int cores = cores_of_node(MPI_COMM_WORLD);  // no test binds its ranks apart
  EXPECT_GE(cores, 1);
  EXPECT_LE(cores, CPU_COUNT(&bound));
}

// Binds every thread of this process (MPI has some of its own).
void bind_process(const cpu_set_t& threads) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t id = std::stoi(task.path().filename());
    ASSERT_EQ(sched_setaffinity(id, sizeof threads, &threads), 0);
  }
}

// Each rank on one hardware thread: the node's cores are the union of theirs.
TEST(Topology, UnitesTheBindingsOfRanks) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int together = cores_of_node(MPI_COMM_WORLD);

  int before_it = rank % CPU_COUNT(&before);
  int thread = 0;
  while (!CPU_ISSET(thread, &before) || before_it-- > 0) ++thread;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(thread, &one);
  bind_process(one);
  EXPECT_EQ(cores_of_node(MPI_COMM_SELF), 1);
  const int apart = cores_of_node(MPI_COMM_WORLD);
  EXPECT_EQ(apart, std::min({together, apart, ranks}));
  if (ranks >= CPU_COUNT(&before)) {
    EXPECT_EQ(apart, together);
  }
  bind_process(before);
}

}  // namespace
}  // namespace triax

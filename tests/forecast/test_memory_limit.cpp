// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_limit.hpp"

#include <sys/resource.h>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

constexpr double kib = 1024.0, gibibyte = kib * kib * kib;

// System files of a machine with 8 GiB.
class MemoryLimits : public testing::Test {
 protected:
  MemoryLimits() { file("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n"); }
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(directory_.path(name)).parent_path());
    directory_.file(name, text);
  }
  SystemFiles system() const { return {directory_.path("proc"), directory_.path("cgroup")}; }

 private:
  TempDirectory directory_;
};

TEST_F(MemoryLimits, WithoutCgroupsThereIsTheMachine) {
  EXPECT_EQ(node_limit(system()).bytes, 8 * gibibyte);
  EXPECT_EQ(node_limit(system()).what, "this machine's memory");
  EXPECT_EQ(process_limit(system()).bytes, std::numeric_limits<double>::infinity());
  EXPECT_EQ(memory_limit(system()).bytes, 8 * gibibyte);
}

TEST_F(MemoryLimits, TheLeastOfACgroupAndThoseAroundItHolds) {
  file("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  file("cgroup/slurm/job_7/step_0/memory.max", "max\n");
  file("cgroup/slurm/memory.max", "6442450944\n");
  EXPECT_EQ(node_limit(system()).bytes, 6 * gibibyte);
  file("cgroup/slurm/job_7/memory.max", "3221225472\n");
  EXPECT_EQ(node_limit(system()).bytes, 3 * gibibyte);
  EXPECT_THAT(node_limit(system()).what, HasSubstr("cgroup/slurm/job_7/memory.max"));
  file("cgroup/slurm/job_7/step_0/memory.max", "2147483648\n");
  EXPECT_EQ(node_limit(system()).bytes, 2 * gibibyte);
  file("cgroup/slurm/job_8/memory.max", "1\n");  // another job's
  EXPECT_EQ(node_limit(system()).bytes, 2 * gibibyte);
  EXPECT_EQ(memory_limit(system()).bytes, 2 * gibibyte);
}

TEST_F(MemoryLimits, TheFirstVersionOfCgroupsIsReadToo) {
  file("proc/self/cgroup", "5:cpu,cpuacct:/cpu\n4:hugetlb,memory:/a/b\n0::/other\n");
  file("cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");  // unlimited
  file("cgroup/memory/cpu/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(node_limit(system()).bytes, 8 * gibibyte);
  file("cgroup/memory/a/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(node_limit(system()).bytes, gibibyte);
  file("cgroup/unified/other/memory.max", "1048576\n");  // both versions at once
  EXPECT_EQ(node_limit(system()).bytes, kib * kib);
}

// Docker mounts the container's own cgroup, while the path in /proc is the machine's.
TEST_F(MemoryLimits, AContainersMountHoldsItsLimit) {
  file("proc/self/cgroup", "4:memory:/docker/0123\n");
  file("cgroup/memory/memory.limit_in_bytes", "4294967296\n");
  EXPECT_EQ(node_limit(system()).bytes, 4 * gibibyte);
  file("proc/self/cgroup", "0::/../../outside\n");
  file("cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(node_limit(system()).bytes, 2 * gibibyte);
}

// Mapped pages that are not resident count as used.
TEST_F(MemoryLimits, LimitsOfAProcessCountWhatItMaps) {
  file("proc/self/status", "VmSize:\t 3145728 kB\nVmRSS:\t 1048576 kB\nVmData:\t 1572864 kB\n");
  file("proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units     \n"
       "Max data size             unlimited            unlimited            bytes     \n"
       "Max address space         5368709120           unlimited            bytes     \n");
  EXPECT_EQ(process_limit(system()).bytes, 3 * gibibyte - mapped_by_libraries);
  EXPECT_THAT(process_limit(system()).what, HasSubstr("ulimit -v"));
  EXPECT_EQ(memory_limit(system()).bytes, 3 * gibibyte - mapped_by_libraries);
  file("proc/self/limits",
       "Max data size             2147483648           unlimited            bytes     \n"
       "Max address space         5368709120           unlimited            bytes     \n");
  EXPECT_EQ(process_limit(system()).bytes, 1.5 * gibibyte - mapped_by_libraries);
  EXPECT_THAT(process_limit(system()).what, HasSubstr("ulimit -d"));
  file("proc/self/limits",
       "Max data size             1048576              unlimited            bytes     \n");
  EXPECT_EQ(process_limit(system()).bytes, 0.0);
}

TEST(MemoryLimit, OfThisProcessFollowsItsLimits) {
  EXPECT_GT(node_limit().bytes, 100.0 * kib * kib);
  EXPECT_LT(node_limit().bytes, 1e15);
  rlimit before{};
  getrlimit(RLIMIT_DATA, &before);
  rlimit lower = before;
  lower.rlim_cur = std::min<rlim_t>(before.rlim_cur, rlim_t{1} << 44);
  setrlimit(RLIMIT_DATA, &lower);
  const MemoryLimit limited = process_limit();
  setrlimit(RLIMIT_DATA, &before);
  const auto limit = static_cast<double>(lower.rlim_cur);
  EXPECT_NEAR(limited.bytes, limit, 0.1 * limit);
}

}  // namespace
}  // namespace triax::test

// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/cgroup.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

class Cgroup : public testing::Test {
 protected:
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(directory_.path(name)).parent_path());
    directory_.file(name, text);
  }
  int quota() const { return cpu_quota({directory_.path("proc"), directory_.path("cgroup")}); }

 private:
  TempDirectory directory_;
};

TEST(CgroupQuota, IsRoundedUpToWholeCpus) {
  EXPECT_EQ(cpus_of_quota("200000 100000"), 2);
  EXPECT_EQ(cpus_of_quota("150000 100000\n"), 2);
  EXPECT_EQ(cpus_of_quota("1000 100000"), 1);
  EXPECT_EQ(cpus_of_quota("max 100000"), unlimited);
  for (const char* text : {"", "max", "5", "5 ", "-1 100000", "0 100000", "5 0", "x y"})
    EXPECT_EQ(cpus_of_quota(text), unlimited) << text;
}

TEST_F(Cgroup, TheLeastQuotaOfAGroupAndThoseAroundItHolds) {
  EXPECT_EQ(quota(), unlimited);
  file("proc/self/cgroup", "0::/system.slice/job\n");
  EXPECT_EQ(quota(), unlimited);
  file("cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(quota(), 8);
  file("cgroup/system.slice/cpu.max", "300000 100000\n");
  file("cgroup/system.slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 3);
  file("cgroup/system.slice/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(Cgroup, TheFirstVersionHasItsQuotaInTwoFiles) {
  file("proc/self/cgroup", "5:cpu,cpuacct:/docker/7\n4:cpuset:/docker/7\n");
  file("cgroup/cpu/docker/7/cpu.cfs_quota_us", "-1\n");
  file("cgroup/cpu/docker/7/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), unlimited);
  file("cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), unlimited) << "without its period it says nothing";
  file("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 3);
}

}  // namespace
}  // namespace triax::test

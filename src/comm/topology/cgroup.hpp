// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of Linux control groups, versions 1 and 2.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// Mount points of the system's pseudo file systems; tests use their own.
struct SystemFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

/// Files that may hold a limit of this process's cgroup and its ancestors, innermost first: named
/// `unified` in version 2, and `legacy` in version 1's hierarchy of `controller`. Some may not
/// exist. In a container the mount may start inside the path, so the mount itself is the last
/// entry.
std::vector<std::filesystem::path> cgroup_files(const SystemFiles& system,
                                                std::string_view controller,
                                                std::string_view unified, std::string_view legacy);

/// CPUs that the cgroup quotas allow (cpu.max; cpu.cfs_quota_us / cpu.cfs_period_us), rounded up;
/// INT_MAX without a limit.
int cpu_quota(const SystemFiles& system = {});

/// CPUs of "QUOTA PERIOD" in microseconds, rounded up. INT_MAX if there is no limit ("max PERIOD",
/// "-1 PERIOD") or the text has another form.
int cpus_of_quota(std::string_view quota_and_period);

}  // namespace triax

#pragma once
// The limits of Linux control groups, versions 1 and 2.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace triax {

/// Where the system tells of itself.
struct SystemFiles {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

/// Where a limit of this process's cgroup may be, and those of the groups around it, the innermost
/// first: files named `unified` of version 2, and `legacy` in version 1's hierarchy of
/// `controller`. Some may not be there. In a container the mount may begin inside the path: the
/// mount itself is the last one.
std::vector<std::filesystem::path> cgroup_files(const SystemFiles& system,
                                                std::string_view controller,
                                                std::string_view unified, std::string_view legacy);

/// CPUs for which the cgroups leave time (cpu.max; cpu.cfs_quota_us and cpu.cfs_period_us), rounded
/// up to whole ones; without a limit the largest int.
int cpu_quota(const SystemFiles& system = {});

/// CPUs of "QUOTA PERIOD" in microseconds, rounded up to whole ones; the largest int where there is
/// no limit ("max PERIOD", "-1 PERIOD") or the text is not of that form.
int cpus_of_quota(std::string_view quota_and_period);

}  // namespace triax

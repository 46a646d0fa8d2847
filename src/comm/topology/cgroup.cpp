// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/cgroup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>

namespace triax {
namespace {
namespace fs = std::filesystem;

constexpr int unlimited = std::numeric_limits<int>::max();

void add_groups(const fs::path& mount, const std::string& path, std::string_view file,
                std::vector<fs::path>& files) {
  fs::path group = path.find("..") == std::string::npos ? fs::path(path) : fs::path("/");
  for (;; group = group.parent_path()) {
    files.push_back(mount / group.relative_path() / file);
    if (!group.has_relative_path()) return;
  }
}

std::string line_in(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

std::vector<fs::path> cgroup_files(const SystemFiles& system, std::string_view controller,
                                   std::string_view unified, std::string_view legacy) {
  std::vector<fs::path> files;
  const fs::path root = system.cgroup;
  // Lines are "hierarchy:controllers:path"; version 2 has an empty controllers field.
  std::ifstream groups(system.proc + "/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      for (const char* mount : {"", "unified"}) add_groups(root / mount, path, unified, files);
    else if (controllers.find(fmt::format(",{},", controller)) != std::string::npos)
      add_groups(root / controller, path, legacy, files);
  }
  return files;
}

int cpu_quota(const SystemFiles& system) {
  int least = unlimited;
  for (const fs::path& file : cgroup_files(system, "cpu", "cpu.max", "cpu.cfs_quota_us")) {
    std::string text = line_in(file);
    if (file.filename() == "cpu.cfs_quota_us")
      text = fmt::format("{} {}", text, line_in(file.parent_path() / "cpu.cfs_period_us"));
    least = std::min(least, cpus_of_quota(text));
  }
  return least;
}

int cpus_of_quota(std::string_view quota_and_period) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  const char* const end = quota_and_period.data() + quota_and_period.size();
  const auto first = std::from_chars(quota_and_period.data(), end, quota);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ') return unlimited;
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc{} || quota <= 0 || period <= 0) return unlimited;
  return static_cast<int>(std::min<std::int64_t>((quota + period - 1) / period, unlimited));
}

}  // namespace triax

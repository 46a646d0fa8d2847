// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/offload_room.hpp"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>

#include "kernels/base/mpi/agree.hpp"
#include "src/launch/run_lock.hpp"

namespace triax {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
// Bytes per file for HDF5's metadata: some pages for each bucket of the stage.
constexpr double own_part = 1024.0 * 1024.0;

// An offload directory, and the bytes that the ranks of a machine keep there.
struct Target {
  std::string section;  // "zero_optimization.offload_optimizer"
  std::string path;
  double bytes = 0.0;
};

std::vector<Target> targets_of(const Config& config, const MemoryPlan& plan,
                               const std::vector<int>& ranks) {
  std::vector<Target> targets;
  const auto add = [&](const char* section, const auto& offload, const auto& bytes_of) {
    if (offload.device != OffloadDevice::nvme) return;
    Target& target = targets.emplace_back(Target{section, offload.nvme_path});
    for (const int rank : ranks)
      target.bytes += own_part + static_cast<double>(bytes_of(plan.of(rank).nvme));
  };
  add("zero_optimization.offload_optimizer", config.zero.offload_optimizer,
      [](const KindBytes& nvme) { return nvme.optimizer + nvme.master; });
  add("zero_optimization.offload_param", config.zero.offload_param,
      [](const KindBytes& nvme) { return nvme.parameters; });
  return targets;
}

bool same_file_system(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev;
}

// `together`: all targets on one file system.
[[noreturn]] void refuse(const std::vector<Target>& together, std::size_t ranks, double needed,
                         double free) {
  std::vector<std::string> parts;
  std::vector<std::string> keys;
  std::vector<std::string> less;
  for (const Target& target : together) {
    parts.push_back(
        fmt::format("{:.4g} GiB of {} in {}", target.bytes / gib, target.section, target.path));
    keys.push_back(target.section + ".nvme_path");
    less.push_back(target.section + ".ratio");
  }
  throw UsageError(
      fmt::format("the offloaded state does not fit the file system of {}: the files of {} rank(s) "
                  "of this machine need {:.4g} GiB ({:.0f} bytes) there and {:.4g} GiB ({:.0f} "
                  "bytes) are free",
                  together.front().path, ranks, needed / gib, needed, free / gib, free),
      fmt::format("{}", fmt::join(parts, ", ")),
      fmt::format("Free space there, set {} to a directory on a larger disk, offload less with a "
                  "smaller {}, or use more machines",
                  fmt::join(keys, " and "), fmt::join(less, " or ")));
}

}  // namespace

double free_bytes(const std::string& directory) {
  return static_cast<double>(std::filesystem::space(directory).available);
}

void check_offload_room(const Config& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                        const std::function<double(const std::string&)>& free) {
  std::vector<Target> left = targets_of(config, plan, ranks);
  std::erase_if(left, [](const Target& target) {
    std::error_code absent;
    return !std::filesystem::is_directory(target.path, absent);
  });
  while (!left.empty()) {
    std::vector<Target> together;
    double needed = 0.0;
    const std::string path = left.front().path;
    std::erase_if(left, [&](const Target& target) {
      if (target.path != path && !same_file_system(target.path, path)) return false;
      together.push_back(target);
      needed += target.bytes;
      return true;
    });
    if (const double room = free(path); needed > room) refuse(together, ranks.size(), needed, room);
  }
}

void check_offload_room(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid) {
  agreed(grid, [&] { check_offload_room(config, plan, grid.ranks_of_node()); });
}

void check_offload_writable(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid) {
  agreed(grid, [&] {
    if (grid.node_rank() != 0) return;
    try {
      for (const Target& target : targets_of(config, plan, grid.ranks_of_node()))
        check_writable(target.path, (target.section + ".nvme_path").c_str());
    } catch (const Error& error) {
      throw UsageError(error.what());
    }
  });
}

}  // namespace triax

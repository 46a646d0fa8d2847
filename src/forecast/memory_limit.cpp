// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "kernels/base/device/device.hpp"
#include "kernels/base/process/process_limits.hpp"
#include "src/forecast/process_memory.hpp"

namespace triax {
namespace {
namespace fs = std::filesystem;

void take_lesser(MemoryLimit& least, const MemoryLimit& other) {
  if (other.bytes < least.bytes) least = other;
}

// Number at the start of a text; nothing if it starts with a word ("max", "unlimited").
std::optional<double> leading_number(const std::string& text) {
  std::istringstream words(text);
  double number = 0.0;
  if (words >> number) return number;
  return {};
}

std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return {};
  return leading_number(line);
}

// Rest of the first line that begins with `key`; "" if there is none.
std::string line_of(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return {};
}

}  // namespace

MemoryLimit node_limit(const SystemFiles& system) {
  MemoryLimit least;
  if (const auto kib = leading_number(line_of(system.proc + "/meminfo", "MemTotal:")))
    take_lesser(least, {*kib * 1024.0, "this machine's memory"});
  for (const fs::path& file : cgroup_files(system, "memory", "memory.max", "memory.limit_in_bytes"))
    if (const auto bytes = number_in(file))
      take_lesser(least, {*bytes, fmt::format("the cgroup's memory ({})", file.string())});
  return least;
}

MemoryLimit process_limit(const SystemFiles& system) {
  const std::string limits = system.proc + "/self/limits";
  const auto counted = [&](const char* key) {
    return static_cast<double>(status_bytes(key, system.proc));
  };
  // The limit counts mapped pages; the plan counts only resident pages.
  const double resident = counted("VmRSS:");
  MemoryLimit least;
  for (const ProcessLimit& limit : process_limits) {
    const auto bytes = leading_number(line_of(limits, limit.line));
    if (!bytes) continue;
    const double mapped = counted(limit.resource == RLIMIT_AS ? "VmSize:" : "VmData:");
    take_lesser(least, {std::max(0.0, *bytes - mapped + resident - mapped_by_libraries),
                        fmt::format("{} of {}", limit.name, size_text(*bytes)), MemorySpace::host,
                        limit.remedy});
  }
  return least;
}

MemoryLimit gpu_limit(MemorySpace space) {
  if (space == MemorySpace::host || device_count() == 0) return {};
  const DeviceFacts facts = device_facts();
  return {static_cast<double>(facts.free_bytes),
          fmt::format("the free memory of its GPU ({})", facts.name), MemorySpace::device};
}

MemoryLimit memory_limit(const SystemFiles& system) {
  MemoryLimit least = node_limit(system);
  take_lesser(least, process_limit(system));
  return least;
}

}  // namespace triax

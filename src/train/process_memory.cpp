#include "src/train/process_memory.hpp"

#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

namespace triax {
namespace {

// A line "VmHWM:     1234 kB". Not getrusage: its peak is that of the program that started this one
// if that was larger.
std::int64_t status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  return 0;
}

}  // namespace

double node_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

std::int64_t resident_bytes() {
  return status_bytes("VmRSS:");
}

std::int64_t peak_resident_bytes() {
  return status_bytes("VmHWM:");
}

}  // namespace triax

// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/process_memory.hpp"

#include <fstream>

namespace triax {

// Reads /proc instead of getrusage, whose peak includes the program that started this one.
std::int64_t status_bytes(std::string_view key, const std::string& proc) {
  std::ifstream status(proc + "/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  return 0;
}

std::int64_t resident_bytes() {
  return status_bytes("VmRSS:");
}

std::int64_t peak_resident_bytes() {
  return status_bytes("VmHWM:");
}

}  // namespace triax

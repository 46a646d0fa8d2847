// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/process_limits.hpp"

#include <fmt/format.h>

namespace triax {

std::optional<double> bytes_of_limit(const ProcessLimit& limit) {
  rlimit set{};
  if (::getrlimit(limit.resource, &set) != 0 || set.rlim_cur == RLIM_INFINITY) return {};
  return static_cast<double>(set.rlim_cur);
}

std::string size_text(double bytes) {
  constexpr double step = 1024.0;
  if (bytes < step) return fmt::format("{:.0f} bytes", bytes);
  const char* unit = "KiB";
  double size = bytes / step;
  for (const char* larger : {"MiB", "GiB"})
    if (size >= step) {
      size /= step;
      unit = larger;
    }
  return fmt::format("{:.4g} {}", size, unit);
}

}  // namespace triax

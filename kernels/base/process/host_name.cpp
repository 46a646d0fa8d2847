// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/process/host_name.hpp"

#include <unistd.h>

#include <array>

namespace triax {

std::string host_name() {
  std::array<char, 256> name{};  // POSIX: at most 255
  if (::gethostname(name.data(), name.size() - 1) != 0) return "an unnamed host";
  return name.data();
}

}  // namespace triax

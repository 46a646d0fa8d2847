// SPDX-License-Identifier: Apache-2.0
#include "src/commands/process/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "kernels/base/check.hpp"

namespace triax {

void print_out(std::string_view text) {
  errno = 0;
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written == text.size() && std::fflush(stdout) == 0) return;
  throw Error("cannot write to standard output", std::strerror(errno != 0 ? errno : EIO),
              "Send it elsewhere, or free space where it goes");
}

}  // namespace triax

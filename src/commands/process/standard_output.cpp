// SPDX-License-Identifier: Apache-2.0
#include "src/commands/process/standard_output.hpp"

#include <spdlog/spdlog.h>

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

void print_summary(std::string_view text) {
  try {
    print_out(text);
  } catch (const Error& error) {
    std::string_view line = text;
    if (line.ends_with('\n')) line.remove_suffix(1);
    spdlog::warn("{}. The command is done: {}", error.what(), line);
  }
}

}  // namespace triax

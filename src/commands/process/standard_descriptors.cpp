// SPDX-License-Identifier: Apache-2.0
// Opens descriptors 0 to 2 if a shell (2>&-) or a launcher closed them. Otherwise the next open
// file would get such a number: metrics.jsonl number 2, and with it the log lines.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "kernels/base/exit_status.hpp"

namespace triax {
namespace {

void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // Output to a descriptor that the caller closed is not wanted: it is no failure of the command.
    const int mode = number == STDIN_FILENO ? O_RDONLY : O_WRONLY;
    if (::open("/dev/null", mode) != number) ::_exit(run_time_failure);
  }
}

// Runs before the initialisers of libraries, which may open files.
using Initialiser = void (*)();
[[gnu::section(".preinit_array"), gnu::used]] const Initialiser first = open_standard_descriptors;

}  // namespace
}  // namespace triax

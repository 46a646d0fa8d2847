// SPDX-License-Identifier: Apache-2.0
// Descriptors 0 to 2 are open in every process of triax, also where a shell (2>&-) or a launcher
// closed them. The next file that is opened would get such a number: metrics.jsonl number 2, and
// with it the lines of the log.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "kernels/base/exit_status.hpp"

namespace triax {
namespace {

void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    // A log may be lost. A table that nobody gets is a failure: writing to standard output stays
    // an error (EBADF).
    const int mode = number == STDERR_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != number) ::_exit(run_time_failure);
  }
}

// Before anything else runs in the process: initialisers of libraries may open files.
using Initialiser = void (*)();
[[gnu::section(".preinit_array"), gnu::used]] const Initialiser first = open_standard_descriptors;

}  // namespace
}  // namespace triax

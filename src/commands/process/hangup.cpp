// SPDX-License-Identifier: Apache-2.0
#include "src/commands/process/hangup.hpp"

#include <signal.h>

namespace triax {
namespace {

// Constant-initialised: note_hangup() sets it before any other initialiser of the process runs.
constinit bool ignored_at_start = false;

void note_hangup() {
  struct sigaction at_start {};
  ignored_at_start = sigaction(SIGHUP, nullptr, &at_start) == 0 && at_start.sa_handler == SIG_IGN;
}

using Initialiser = void (*)();
[[gnu::section(".preinit_array"), gnu::used]] const Initialiser first = note_hangup;

}  // namespace

void restore_hangup() {
  (void)::signal(SIGHUP, ignored_at_start ? SIG_IGN : SIG_DFL);
}

}  // namespace triax

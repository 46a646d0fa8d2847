// SPDX-License-Identifier: Apache-2.0
#include "src/commands/process/hangup.hpp"

#include <signal.h>

namespace triax {
namespace {

// Written before anything else runs in the process, libraries' initialisers too: none of its own.
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

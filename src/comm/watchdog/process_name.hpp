// SPDX-License-Identifier: Apache-2.0
#pragma once
// Identifies a local process by pid and start time, so that a reused pid is not mistaken for it.
#include <cstdint>

namespace triax {

struct ProcessName {
  std::int32_t number = 0;
  std::uint64_t born = 0;  // start time, in clock ticks since boot
};

/// stopped: by a signal (SIGSTOP, a debugger).
enum class ProcessState : std::uint8_t { running, stopped, gone };

ProcessName this_process();
/// State from /proc. Processes of another container may appear gone.
ProcessState state_of(const ProcessName& process);
/// Sends SIGKILL, which also ends stopped processes; does nothing if the process is gone.
void kill_process(const ProcessName& process);

}  // namespace triax

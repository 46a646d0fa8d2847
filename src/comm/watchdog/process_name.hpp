#pragma once
// Processes of this node, named so that a number that the system gave to another one is not
// mistaken.
#include <cstdint>

namespace triax {

struct ProcessName {
  std::int32_t number = 0;
  std::uint64_t born = 0;  // clock ticks since the system began
};

/// Stopped: by a signal (SIGSTOP, a debugger).
enum class ProcessState : std::uint8_t { running, stopped, gone };

ProcessName this_process();
/// What the system says of it. Processes of another container may seem gone.
ProcessState state_of(const ProcessName& process);
/// SIGKILL, which ends stopped processes too; nothing where it is gone.
void kill_process(const ProcessName& process);

}  // namespace triax

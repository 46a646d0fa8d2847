#pragma once
// The one place where a rank waits for its GPU.
#include <functional>

#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// How to wait for work of a GPU: ProcessGrid::drain in a run, for whoever has no grid of its own.
using WaitForDevice = std::function<void(const Event&)>;
/// Where there are no other ranks, nor a watchdog.
inline void wait_alone(const Event& event) {
  event.synchronize();
}

/// Asks done() until it is true, as the policy has it. What `progress` (null: nothing) has moves on
/// meanwhile, and `board` (null: none) has what is waited for, so that the watchdog ends a wait
/// without end.
template <class Done>
void wait_for_device(const Done& done, WaitPolicy policy, ProgressBoard* board,
                     MessageProgress* progress,
                     const ProgressBoard::Message& awaited = ProgressBoard::of_device()) {
  if (done()) return;
  const BoardWait waiting(board, awaited);
  for (PatientProgress patience(progress, policy); !done(); patience.pause()) {
  }
}

}  // namespace triax

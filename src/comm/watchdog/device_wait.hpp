// SPDX-License-Identifier: Apache-2.0
#pragma once
// The single wait loop for a rank's GPU.
#include <functional>

#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

/// Waits for GPU work: ProcessGrid::drain in a run, passed to code that has no grid.
using WaitForDevice = std::function<void(const Event&)>;
/// For use without other ranks and without a watchdog.
inline void wait_alone(const Event& event) {
  event.synchronize();
}

/// Polls done() until true, pausing by `policy`. Meanwhile `progress` (null: nothing) advances, and
/// `board` (null: none) shows `awaited`, so that the watchdog ends a wait without end.
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

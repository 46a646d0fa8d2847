// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that ask a run to stop before it has made a step.
#include <signal.h>

#include <atomic>
#include <thread>

namespace triax {

/// While it lives, SIGUSR1, SIGTERM and SIGHUP to any rank end the job at once, with `status`:
/// there is nothing to save yet, and this process may be waiting for what never comes, a file
/// system or another rank. They must be held (hold_signals); those that came before it count too.
/// Made before MPI, which may wait for another process: where it does not start within seconds,
/// only this process is ended, and the launcher ends the others.
class StartSignals {
 public:
  explicit StartSignals(int status);
  /// Tells the rank of this process, as MPI knows it.
  void mpi_started(int rank, int size);
  /// Signals wait again, for RunRequests.
  ~StartSignals();
  StartSignals(const StartSignals&) = delete;
  StartSignals& operator=(const StartSignals&) = delete;

 private:
  void watch(int status) const;

  std::atomic<int> rank_;      // as the launcher says, then as MPI does
  std::atomic<int> size_ = 0;  // 0 until MPI has started
  int signals_ = -1;           // the file that holds those that came
  int over_ = -1;              // readable when the start is over
  std::thread thread_;
};

}  // namespace triax

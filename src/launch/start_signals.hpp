// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that stop a run before its first step.
#include <signal.h>

#include <atomic>
#include <thread>

namespace triax {

/// While it lives, SIGUSR1, SIGTERM and SIGHUP to any rank end the job at once with `status`: there
/// is nothing to save yet, and the process may be blocked on a file system or another rank.
/// Requires hold_signals(); signals that arrived since then count too. Created before MPI starts,
/// which may block. If MPI does not start within 5 s of the signal, only this process ends and the
/// launcher ends the others.
class StartSignals {
 public:
  explicit StartSignals(int status);
  /// Sets the MPI rank of this process and the number of ranks.
  void mpi_started(int rank, int size);
  /// Signals stay pending from here on, for RunRequests.
  ~StartSignals();
  StartSignals(const StartSignals&) = delete;
  StartSignals& operator=(const StartSignals&) = delete;

 private:
  void watch(int status) const;

  std::atomic<int> rank_;      // from the launcher, then from MPI
  std::atomic<int> size_ = 0;  // 0 until MPI has started
  int signals_ = -1;           // signalfd
  int over_ = -1;              // eventfd, readable when the start is over
  std::thread thread_;
};

}  // namespace triax

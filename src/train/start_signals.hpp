#pragma once
// Signals that ask a run to stop before it has made a step.
#include <signal.h>

#include <thread>

#include "src/comm/mpi_session.hpp"

namespace triax {

/// While it lives, SIGUSR1 and SIGTERM to any rank end the job at once, with `status`: there is
/// nothing to save yet, and this process may be waiting for what never comes, a file system or
/// another rank. They must be held (hold_signals); those that came before it count too.
class StartSignals {
 public:
  StartSignals(const MpiSession& session, int status);
  /// Signals wait again, for RunRequests.
  ~StartSignals();
  StartSignals(const StartSignals&) = delete;
  StartSignals& operator=(const StartSignals&) = delete;

 private:
  void watch(int rank, int size, int status) const;

  int signals_ = -1;  // the file that holds those that came
  int over_ = -1;     // readable when the start is over
  std::thread thread_;
};

}  // namespace triax
